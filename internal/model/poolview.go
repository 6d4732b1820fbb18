package model

import "math/bits"

// PoolView is a pool as seen from one node.
type PoolView struct {
	*Pool
	Reach Bits // the devices that the node can use
	entry *poolEntry
}

// Number is that of the pool among those of the State, a small one. When the pool is gone, another one gets it.
func (v *PoolView) Number() int { return v.entry.number }

// Taken are the devices that claims hold now, as a set that is only to be read.
func (v *PoolView) Taken() Bits { return v.entry.taken }

// FreeOf is how many devices of the set the node can use and nobody holds.
func (v *PoolView) FreeOf(devices Bits) int {
	free := 0
	for i, word := range v.Reach {
		free += bits.OnesCount64(word & devices[i] &^ v.entry.taken[i])
	}
	return free
}

// Holders returns what holds a device.
func (v *PoolView) Holders(i int) []Holder { return v.entry.held[v.Devices[i].Name].holders }

// Given is what claims hold of a device's capacity, only to be read, and whether one of them has it whole.
func (v *PoolView) Given(i int) (capacity Capacity, whole bool) {
	h := v.entry.held[v.Devices[i].Name]
	return h.given, h.whole > 0
}

// Rules are the DeviceTaintRules that are about devices of the pool.
func (v *PoolView) Rules() *RuleTaints { return v.entry.rules }

// Unpublished finds a device that a claim holds and that the pool does not have any longer.
func (v *PoolView) Unpublished() (string, bool) {
	found := ""
	for device := range v.entry.held {
		if _, ok := v.Index(device); !ok && (found == "" || device < found) {
			found = device
		}
	}
	return found, found != ""
}

type poolEntry struct {
	number int
	pool   *Pool // nil: claims hold devices of a pool that nobody publishes
	slices []*Slice
	held   map[string]holding // by device name, also of devices that are no longer published; nil as long as there was none
	rules  *RuleTaints
	taken  Bits        // indices of pool.Devices with holders
	nodes  []*NodeInfo // where the entry is listed as local
	shared bool        // whether it is listed in sharedPools
	stale  bool        // whether slices have changed since the pool was built
}
