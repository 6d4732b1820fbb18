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

// consumed is what a request takes of a device's capacity, by the device's policies, or why the device cannot serve it
// even if nobody else has any of it. What is not asked for is taken by default, and without default whole.
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
			if amount, ok = rounded(model.Bounded(amount), has.RequestPolicy); !ok {
				return nil, fmt.Sprintf("does not give out so much %s", name)
			}
		} else if amount = model.Bounded(has.Value); has.RequestPolicy != nil && has.RequestPolicy.Default != nil {
			amount = model.Bounded(*has.RequestPolicy.Default)
		}
		if isMore(amount, has.Value) {
			return nil, fmt.Sprintf("has %s %s", has.Value.String(), name)
		}
		takes[name] = amount
	}
	return takes, ""
}

// incapable is why consumed says that the device cannot serve a request, "" if it can.
func incapable(device *model.Device, asked *resourcev1.CapacityRequirements) string {
	if asked == nil && givesDefault(device) {
		return ""
	}
	_, why := consumed(device, asked)
	return why
}

// givesDefault says whether the device has what is taken of it by those who ask for nothing.
func givesDefault(device *model.Device) bool {
	for _, has := range device.Capacity {
		if has.Value.Sign() < 0 {
			return false
		}
		if policy := has.RequestPolicy; policy != nil && policy.Default != nil && isMore(*policy.Default, has.Value) {
			return false
		}
	}
	return true
}

// isMore reports whether a device cannot give so much of what it has: it is more, or negative.
func isMore(amount, has resource.Quantity) bool {
	bounded := model.Bounded(amount)
	return bounded.Cmp(model.Bounded(has)) > 0 || amount.Sign() < 0
}

// rounded is the amount that the policy allows and that is at least what is wanted, if there is one.
func rounded(wanted resource.Quantity, policy *resourcev1.CapacityRequestPolicy) (resource.Quantity, bool) {
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
		return roundedIn(policy.ValidRange, wanted)
	}
	return wanted, true
}

func roundedIn(r *resourcev1.CapacityRequestPolicyRange, wanted resource.Quantity) (resource.Quantity, bool) {
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

// share is a device that can be had more than once, by parts of its capacity.
type share struct {
	left  capacity
	takes []capacity // by selection; nil if the device cannot serve it
	held  bool       // somebody has a part already, so that its counters are paid for
	room  int        // how many parts there are at most
}

// shareOf lays out what is left of a device that can be shared; nil if somebody has it whole. For those with admin access
// it is as if nobody else had any of it, and they take nothing from each other.
func (b *Board) shareOf(view *model.PoolView, device int, admin bool) *share {
	p := b.problem
	d := &view.Devices[device]
	s := &share{left: capacity{}, takes: make([]capacity, len(p.selections))}
	for name, has := range d.Capacity {
		s.left[name] = model.Bounded(has.Value.DeepCopy())
	}
	if !admin && !s.leave(view, device) {
		return nil
	}
	for i, selection := range p.selections {
		takes, why := consumed(d, selection.capacity)
		if why != "" || !s.fits(takes) || selection.admin != admin {
			continue
		}
		s.takes[i] = takes
		if admin {
			s.room = maxParts
		}
		s.room = max(s.room, s.parts(takes))
	}
	return s
}

// tooLittleLeft names the capacity that selections lack.
func (b *Board) tooLittleLeft(view *model.PoolView, device int, short model.Bits) string {
	s := &share{left: capacity{}}
	d := &view.Devices[device]
	for name, has := range d.Capacity {
		s.left[name] = model.Bounded(has.Value.DeepCopy())
	}
	text := "is held whole"
	if !s.leave(view, device) {
		return text
	}
	short.Each(func(selection int) bool {
		takes, _ := consumed(d, b.problem.selections[selection].capacity)
		for _, name := range slices.Sorted(maps.Keys(takes)) {
			left, wanted := s.left[name], takes[name]
			if left.Cmp(wanted) < 0 {
				text = fmt.Sprintf("has %s %s left, %s wanted", left.String(), name, wanted.String())
				return false
			}
		}
		return true
	})
	return text
}

// leave takes off what claims hold of the device. It answers false if one holds all of it.
func (s *share) leave(view *model.PoolView, device int) bool {
	given, whole := view.Given(device)
	if whole {
		return false
	}
	s.held = len(view.Holders(device)) > 0
	s.take(given, 1)
	return true
}

func (s *share) take(amounts capacity, by int) {
	for name, amount := range amounts {
		left, ok := s.left[name]
		if !ok {
			continue
		}
		left = left.DeepCopy()
		if by > 0 {
			left.Sub(amount)
		} else {
			left.Add(amount)
		}
		s.left[name] = left
	}
}

func (s *share) fits(amounts capacity) bool {
	for name, amount := range amounts {
		if left := s.left[name]; left.Cmp(amount) < 0 {
			return false
		}
	}
	return true
}

// narrow takes off those selections that what is left cannot serve.
func (s *share) narrow(matches model.Bits) model.Bits {
	narrow := slices.Clone(matches)
	for i, takes := range s.takes {
		if takes == nil {
			narrow.Clear(i)
		}
	}
	return narrow
}

const maxParts = 1 << 20 // of one device, where a part takes nothing

// parts is how many parts of this size are left, at most.
func (s *share) parts(amounts capacity) int {
	parts := maxParts
	for name, amount := range amounts {
		parts = model.Times(s.left[name], amount, parts)
	}
	return parts
}

// room is how many times a device of the cell can be had, at most.
func (c *cell) room() int {
	if c.share != nil {
		return c.share.room
	}
	return len(c.devices)
}

// shareID names a part of a device: the same input gives the same one, and no other claim or slot does.
func shareID(claim *model.Claim, slot int, device model.DeviceID) *types.UID {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d %s", claim.Key, claim.UID, slot, device))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	id := types.UID(fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]))
	return &id
}
