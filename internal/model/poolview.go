package model

import (
	"iter"
	"math/bits"

	resourcev1 "k8s.io/api/resource/v1"
)

// PoolView is a pool as one node can use it.
type PoolView struct {
	*Pool
	Reach Bits // devices that the node can use
	entry *poolEntry
}

// Number returns the number of the pool, which is small and unique in the State. It is reused after
// the pool was deleted.
func (v *PoolView) Number() int { return v.entry.number }

// InUse returns the devices that have holders. The set must not be changed.
func (v *PoolView) InUse() Bits { return v.entry.inUse }

// CountFree returns the number of free devices of the set that the node can use.
func (v *PoolView) CountFree(devices Bits) int {
	free := 0
	for i, word := range v.Reach {
		free += bits.OnesCount64(word & devices[i] &^ v.entry.inUse[i])
	}
	return free
}

// Holders returns what holds a device.
func (v *PoolView) Holders(i int) []Holder { return v.entry.holdings[v.Devices[i].Name].holders }

// ConsumedCapacity returns the consumed capacity of a device, which must not be changed, and
// whether a holder has the whole device.
func (v *PoolView) ConsumedCapacity(i int) (capacity Capacity, whole bool) {
	h := v.entry.holdings[v.Devices[i].Name]
	return h.consumed, h.wholeHolders > 0
}

// Rules returns the DeviceTaintRules for devices of the pool.
func (v *PoolView) Rules() *RuleTaints { return v.entry.rules }

// PreventingTaint returns a taint that prevents the allocation of a device, and the DeviceTaintRule
// that sets it, or nil if its driver does. Without such a taint both are nil.
func (v *PoolView) PreventingTaint(i int) (taint *resourcev1.DeviceTaint, rule *TaintRule) {
	device := &v.Devices[i]
	for t := range device.Taints {
		if PreventsAllocation(&device.Taints[t]) {
			return &device.Taints[t], nil
		}
	}
	v.Rules().Each(device.Name, func(candidate *TaintRule) bool {
		if !PreventsAllocation(&candidate.Taint) {
			return true
		}
		taint, rule = &candidate.Taint, candidate
		return false
	})
	return taint, rule
}

// Unpublished returns a device that has a holder and that the pool no longer publishes.
func (v *PoolView) Unpublished() (string, bool) {
	found := ""
	for device := range v.entry.holdings {
		if _, ok := v.Index(device); !ok && (found == "" || device < found) {
			found = device
		}
	}
	return found, found != ""
}

// PoolVersion is a pool that is published or has held devices.
type PoolVersion struct {
	ID PoolID
	// Version is new whenever the devices, their taint rules or their holders change.
	Version     uint64
	Unpublished int // number of held devices that no slice publishes
}

// PoolVersions returns all pools. The State must not be changed meanwhile.
func (s *State) PoolVersions() iter.Seq[PoolVersion] {
	s.Devices.settle()
	return func(yield func(PoolVersion) bool) {
		for id, entry := range s.Devices.pools {
			if !yield(PoolVersion{ID: id, Version: entry.version, Unpublished: len(entry.holdings) - entry.inUse.Len()}) {
				return
			}
		}
	}
}

// IsLocal reports whether only one node can use the pool's devices.
func (v *PoolView) IsLocal() bool { return !v.entry.shared && len(v.entry.nodes) == 1 }

type poolEntry struct {
	number int
	pool   *Pool // nil if devices of the pool have holders and no slice publishes it
	slices []*Slice
	// by device name, including devices that are no longer published; nil while there was none
	holdings map[string]holding
	rules    *RuleTaints
	inUse    Bits        // indices of pool.Devices that have holders
	nodes    []*NodeInfo // nodes whose local list has the entry
	shared   bool        // whether sharedPools has the entry
	stale    bool        // whether slices have changed since the pool was built
	// version increases with every change of the devices, their taint rules and their holders
	version uint64
}
