package model

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Capacity contains an amount for each capacity of a device.
type Capacity = map[resourcev1.QualifiedName]resource.Quantity

// holding contains the holders of one device. A free device has no holding.
type holding struct {
	holders      []Holder // sorted; a claim with several parts is listed once for each; never changed in place
	consumed     Capacity // consumed capacity, without zero amounts; nil while there was none
	wholeHolders int      // number of holders of the whole device, whatever its capacity
}

// add adds an allocation result of a holder.
func (h *holding) add(holder Holder, result *resourcev1.DeviceRequestAllocationResult) {
	at, _ := slices.BinarySearchFunc(h.holders, holder, compareHolders)
	h.holders = slices.Insert(slices.Clone(h.holders), at, holder)
	if result.ShareID == nil {
		h.wholeHolders++
		return
	}
	for name, amount := range result.ConsumedCapacity {
		h.change(name, func(given *resource.Quantity) { given.Add(Bounded(amount)) })
	}
}

// remove reverts add.
func (h *holding) remove(holder Holder, result *resourcev1.DeviceRequestAllocationResult) {
	if at, ok := slices.BinarySearchFunc(h.holders, holder, compareHolders); ok {
		h.holders = slices.Delete(slices.Clone(h.holders), at, at+1)
	}
	if result.ShareID == nil {
		h.wholeHolders--
		return
	}
	for name, amount := range result.ConsumedCapacity {
		h.change(name, func(given *resource.Quantity) { given.Sub(Bounded(amount)) })
	}
}

func (h *holding) change(name resourcev1.QualifiedName, change func(*resource.Quantity)) {
	given := h.consumed[name].DeepCopy()
	change(&given)
	if given.IsZero() {
		delete(h.consumed, name)
		return
	}
	if h.consumed == nil {
		h.consumed = Capacity{}
	}
	h.consumed[name] = given
}

// hold and release add and remove the devices of a holder's allocation. Admin access holds nothing.
func (s *DeviceStore) hold(holder Holder, a *Allocation) {
	results := a.results()
	for i := range results {
		if holdsNothing(results[i].AdminAccess) {
			continue
		}
		id := DeviceIDOf(results[i])
		entry := s.poolEntry(id.PoolID())
		s.state.Nodes.changes.renew(entry)
		h := entry.holdings[id.Device]
		h.add(holder, &results[i])
		if entry.holdings == nil {
			entry.holdings = map[string]holding{}
		}
		entry.holdings[id.Device] = h
		if entry.pool == nil {
			continue
		}
		if at, ok := entry.pool.Index(id.Device); ok {
			entry.inUse.Set(at)
			s.state.Nodes.changes.recordPool(entry)
		}
	}
}

func (s *DeviceStore) release(holder Holder, a *Allocation) {
	results := a.results()
	for i := range results {
		if holdsNothing(results[i].AdminAccess) {
			continue
		}
		id := DeviceIDOf(results[i])
		entry := s.pools[id.PoolID()]
		s.state.Nodes.changes.renew(entry)
		h := entry.holdings[id.Device]
		h.remove(holder, &results[i])
		if len(h.holders) > 0 {
			entry.holdings[id.Device] = h
			continue
		}
		delete(entry.holdings, id.Device)
		if entry.pool != nil {
			if at, ok := entry.pool.Index(id.Device); ok {
				entry.inUse.Clear(at)
				s.state.Nodes.changes.recordPool(entry)
			}
		}
		s.dropPoolIfEmpty(id.PoolID(), entry)
	}
}

func holdsNothing(adminAccess *bool) bool { return adminAccess != nil && *adminAccess }
