package alloc

import (
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
)

type capacity = model.Capacity

// consumed returns the capacity that a request consumes under the policies of the device, or the
// reason why the device cannot serve the request even when unused. A capacity that is not requested
// is consumed with its default, or wholly if it has none.
func consumed(device *model.Device, asked *resourcev1.CapacityRequirements) (capacity, string) {
	var requests capacity
	if asked != nil {
		requests = asked.Requests
	}
	takes := capacity{}
	if len(device.Capacity)+len(requests) == 0 {
		return takes, ""
	}
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		if _, ok := device.Capacity[name]; !ok {
			return nil, fmt.Sprintf("has no capacity %s", name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(device.Capacity)) {
		has := device.Capacity[name]
		amount, ok := requests[name]
		if ok {
			if amount, ok = roundToPolicy(model.Bounded(amount), has.RequestPolicy); !ok {
				return nil, fmt.Sprintf("does not give out so much %s", name)
			}
		} else if amount = model.Bounded(has.Value); has.RequestPolicy != nil && has.RequestPolicy.Default != nil {
			amount = model.Bounded(*has.RequestPolicy.Default)
		}
		if exceeds(amount, has.Value) {
			return nil, fmt.Sprintf("has %s %s", has.Value.String(), name)
		}
		takes[name] = amount
	}
	return takes, ""
}

// capacityReason returns the reason of consumed, or "".
func capacityReason(device *model.Device, asked *resourcev1.CapacityRequirements) string {
	if asked == nil && hasDefaultCapacity(device) {
		return ""
	}
	_, why := consumed(device, asked)
	return why
}

// hasDefaultCapacity reports whether the device can serve a request without capacity requirements.
func hasDefaultCapacity(device *model.Device) bool {
	for _, has := range device.Capacity {
		if has.Value.Sign() < 0 {
			return false
		}
		if policy := has.RequestPolicy; policy != nil && policy.Default != nil && exceeds(*policy.Default, has.Value) {
			return false
		}
	}
	return true
}

// exceeds reports whether an amount is negative or greater than what the device has.
func exceeds(amount, has resource.Quantity) bool {
	bounded := model.Bounded(amount)
	return bounded.Cmp(model.Bounded(has)) > 0 || amount.Sign() < 0
}

// roundToPolicy returns the smallest amount that the policy permits and that is at least wanted.
func roundToPolicy(wanted resource.Quantity, policy *resourcev1.CapacityRequestPolicy) (resource.Quantity, bool) {
	switch {
	case policy == nil:
		return wanted, true
	case len(policy.ValidValues) > 0:
		for _, value := range policy.ValidValues {
			if value = model.Bounded(value); wanted.Cmp(value) <= 0 {
				return value, true
			}
		}
		return wanted, policy.Default != nil && wanted.Cmp(model.Bounded(*policy.Default)) == 0
	case policy.ValidRange != nil:
		return roundToRange(policy.ValidRange, wanted)
	}
	return wanted, true
}

func roundToRange(r *resourcev1.CapacityRequestPolicyRange, wanted resource.Quantity) (resource.Quantity, bool) {
	var least resource.Quantity
	if r.Min != nil {
		least = model.Bounded(*r.Min)
	}
	if wanted.Cmp(least) < 0 {
		wanted = least
	}
	if r.Step != nil && wanted.Cmp(least) > 0 {
		var ok bool
		if wanted, ok = model.RoundUpToStep(wanted, least, model.Bounded(*r.Step)); !ok {
			return wanted, false
		}
	}
	return wanted, r.Max == nil || wanted.Cmp(model.Bounded(*r.Max)) <= 0
}

// sharedDevice is a device that allows multiple allocations, with the capacity that is left.
type sharedDevice struct {
	remaining capacity
	consumes  []capacity // by selection; nil if the device cannot serve it
	inUse     bool       // a share is allocated, so that counters are already paid for
	maxShares int        // upper bound for the number of further shares
}

// sharedDevice returns what is left of a device, or nil if a claim holds all of it. For admin
// access, existing allocations are ignored and shares consume nothing from each other.
func (offer *NodeOffer) sharedDevice(view *model.PoolView, device int, admin bool) *sharedDevice {
	p := offer.problem
	d := &view.Devices[device]
	shared := &sharedDevice{remaining: capacity{}, consumes: make([]capacity, len(p.selections))}
	for name, has := range d.Capacity {
		shared.remaining[name] = model.Bounded(has.Value.DeepCopy())
	}
	if !admin && !shared.subtractHeld(view, device) {
		return nil
	}
	for i, selection := range p.selections {
		takes, why := consumed(d, selection.capacity)
		if why != "" || !shared.fits(takes) || selection.admin != admin {
			continue
		}
		shared.consumes[i] = takes
		if admin {
			shared.maxShares = maxSharesPerDevice
		}
		shared.maxShares = max(shared.maxShares, shared.sharesOf(takes))
	}
	return shared
}

// missingCapacity describes the capacity that is too small for one of the selections.
func (offer *NodeOffer) missingCapacity(view *model.PoolView, device int, short model.Bits) string {
	s := &sharedDevice{remaining: capacity{}}
	d := &view.Devices[device]
	for name, has := range d.Capacity {
		s.remaining[name] = model.Bounded(has.Value.DeepCopy())
	}
	text := "is held whole"
	if !s.subtractHeld(view, device) {
		return text
	}
	short.Each(func(selection int) bool {
		takes, _ := consumed(d, offer.problem.selections[selection].capacity)
		for _, name := range slices.Sorted(maps.Keys(takes)) {
			left, wanted := s.remaining[name], takes[name]
			if left.Cmp(wanted) < 0 {
				text = fmt.Sprintf("has %s %s left, %s wanted", left.String(), name, wanted.String())
				return false
			}
		}
		return true
	})
	return text
}

// subtractHeld subtracts what claims hold. It returns false if a claim holds the whole device.
func (s *sharedDevice) subtractHeld(view *model.PoolView, device int) bool {
	given, whole := view.ConsumedCapacity(device)
	if whole {
		return false
	}
	s.inUse = len(view.Holders(device)) > 0
	s.adjust(given, 1)
	return true
}

func (s *sharedDevice) adjust(amounts capacity, by int) {
	for name, amount := range amounts {
		left, ok := s.remaining[name]
		if !ok {
			continue
		}
		left = left.DeepCopy()
		if by > 0 {
			left.Sub(amount)
		} else {
			left.Add(amount)
		}
		s.remaining[name] = left
	}
}

func (s *sharedDevice) fits(amounts capacity) bool {
	for name, amount := range amounts {
		if left := s.remaining[name]; left.Cmp(amount) < 0 {
			return false
		}
	}
	return true
}

// withoutUnservable removes the selections that the remaining capacity cannot serve.
func (s *sharedDevice) withoutUnservable(matches model.Bits) model.Bits {
	narrow := slices.Clone(matches)
	for i, takes := range s.consumes {
		if takes == nil {
			narrow.Clear(i)
		}
	}
	return narrow
}

const maxSharesPerDevice = 1 << 20 // maxSharesPerDevice limits shares that consume nothing.

// sharesOf returns how many shares of this size are left.
func (s *sharedDevice) sharesOf(amounts capacity) int {
	parts := maxSharesPerDevice
	for name, amount := range amounts {
		parts = model.Times(s.remaining[name], amount, parts)
	}
	return parts
}

// available returns an upper bound for the allocations from the cell.
func (c *cell) available() int {
	if c.shared != nil {
		return c.shared.maxShares
	}
	return len(c.devices)
}

// shareID returns a share ID that is unique for claim, slot and device, and always the same for the
// same input.
func shareID(claim *model.Claim, slot int, device model.DeviceID) *types.UID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", claim.Key, claim.UID, slot, device))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	id := types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
	return &id
}
