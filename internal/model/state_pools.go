package model

import (
	"math/bits"
	"slices"
)

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

// Holders are the claims that hold a device.
func (v *PoolView) Holders(i int) []Key { return v.entry.held[v.Devices[i].Name].claims }

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

// Pools are the pools with devices that can be used from the node, those of the node alone first, then by ID.
func (s *State) Pools(node *NodeInfo) []PoolView {
	s.settle()
	if node.seen == s.sharing {
		return node.views
	}
	var views []PoolView
	for _, entry := range node.local {
		if !entry.shared {
			views = append(views, PoolView{Pool: entry.pool, Reach: entry.pool.from(node), entry: entry})
		}
	}
	for _, entry := range s.sharedPools {
		if devices := entry.pool.from(node); devices != nil {
			views = append(views, PoolView{Pool: entry.pool, Reach: devices, entry: entry})
		}
	}
	node.views, node.seen = views, s.sharing
	return views
}

// FreeLocal is how many devices of this node alone nobody holds.
func (s *State) FreeLocal(node *NodeInfo) int {
	s.settle()
	free := 0
	for _, entry := range node.local {
		if !entry.shared {
			free += len(entry.pool.Devices) - entry.taken.Len()
		}
	}
	return free
}

// Pool finds a published pool.
func (s *State) Pool(id PoolID) (*Pool, bool) {
	s.settle()
	entry, ok := s.pools[id]
	if !ok || entry.pool == nil {
		return nil, false
	}
	return entry.pool, true
}

// Holders are the claims that hold the device, published or not.
func (s *State) Holders(id DeviceID) []Key {
	entry, ok := s.pools[id.PoolID()]
	if !ok {
		return nil
	}
	return entry.held[id.Device].claims
}

// View is a published pool with all of its devices in reach, as no single node may see it.
func (s *State) View(id PoolID) (PoolView, bool) {
	s.settle()
	entry, ok := s.pools[id]
	if !ok || entry.pool == nil {
		return PoolView{}, false
	}
	return PoolView{Pool: entry.pool, Reach: FullBits(len(entry.pool.Devices)), entry: entry}, true
}

// PutSlice adds or replaces a slice of a pool.
func (s *State) PutSlice(slice *Slice) []Topic {
	old := s.slices[slice.Name]
	if old != nil && outdated(old.UID, slice.UID, old.Version, slice.Version) {
		return nil
	}
	if sameSlice(old, slice) {
		// The pool, which alloc knows by its address, stays: what was worked out about it still holds.
		version := old.Version
		s.record(func() { old.Version = version })
		old.Version = slice.Version
		return nil
	}
	s.setSlice(slice.Name, slice)
	return []Topic{{Kind: TopicDevices}}
}

// DeleteSlice forgets a slice. Claims that hold its devices keep them.
func (s *State) DeleteSlice(name string) []Topic {
	if _, ok := s.slices[name]; !ok {
		return nil
	}
	s.setSlice(name, nil)
	// An older generation, or a pool that was over-complete, may be usable now.
	return []Topic{{Kind: TopicDevices}}
}

func (s *State) setSlice(name string, slice *Slice) {
	old := s.slices[name]
	s.record(func() { s.setSlice(name, old) })
	if old != nil {
		entry := s.pools[old.Pool]
		entry.slices = slices.DeleteFunc(entry.slices, func(part *Slice) bool { return part.Name == name })
		delete(s.slices, name)
		if slice == nil || slice.Pool != old.Pool {
			s.changePool(old.Pool, entry)
		}
	}
	if slice != nil {
		entry := s.poolEntry(slice.Pool)
		entry.slices = append(entry.slices, slice)
		s.slices[name] = slice
		s.changePool(slice.Pool, entry)
	}
}

// changePool has a pool built anew before anybody looks at it, and not before that: most have slices that come one after the
// other. One without slices goes at once.
func (s *State) changePool(id PoolID, entry *poolEntry) {
	if len(entry.slices) == 0 {
		s.clearPool(entry)
		s.dropPoolIfEmpty(id, entry)
		return
	}
	if !entry.stale {
		entry.stale = true
		s.stale = append(s.stale, entry)
	}
}

// settle builds the pools whose slices have changed. Whoever looks at what is derived of pools calls it first.
func (s *State) settle() {
	if len(s.stale) == 0 {
		return
	}
	for _, entry := range s.stale {
		if entry.stale {
			s.rebuildPool(entry)
		}
	}
	s.stale = nil
}

func (s *State) poolEntry(id PoolID) *poolEntry {
	entry, ok := s.pools[id]
	if !ok {
		entry = &poolEntry{number: len(s.pools)}
		if last := len(s.numbers) - 1; last >= 0 {
			entry.number, s.numbers = s.numbers[last], s.numbers[:last]
		}
		s.pools[id] = entry
	}
	return entry
}

func (s *State) clearPool(entry *poolEntry) {
	s.unlistPool(entry)
	if entry.pool != nil && entry.pool.draws() {
		s.drawing--
	}
	entry.pool, entry.taken, entry.rules, entry.stale = nil, nil, nil, false
}

// rebuildPool costs as much as the pool is large, and forgets what was worked out for the nodes that can use it.
func (s *State) rebuildPool(entry *poolEntry) {
	s.clearPool(entry)
	entry.pool = newPool(entry.slices)
	entry.rules = s.ruleTaints(entry.pool)
	if entry.pool.draws() {
		s.drawing++
	}
	entry.taken = NewBits(len(entry.pool.Devices))
	for device := range entry.held {
		if i, ok := entry.pool.Index(device); ok {
			entry.taken.Set(i)
		}
	}
	s.listPool(entry)
}

func (s *State) listPool(entry *poolEntry) {
	for i := range entry.pool.reaches {
		scope := &entry.pool.reaches[i].scope
		if scope.Node == "" {
			entry.shared = true
			continue
		}
		entry.nodes = append(entry.nodes, s.info(scope.Node))
	}
	// A pool with devices of several nodes is seen from each with another reach.
	entry.shared = entry.shared || len(entry.nodes) > 1
	for _, node := range entry.nodes {
		node.local, node.seen = insertPool(node.local, entry), 0
	}
	if entry.shared {
		s.sharedPools = insertPool(s.sharedPools, entry)
		s.sharing++
	}
	s.changes.notePool(entry)
}

func (s *State) unlistPool(entry *poolEntry) {
	s.changes.notePool(entry)
	same := func(other *poolEntry) bool { return other == entry }
	for _, node := range entry.nodes {
		node.local, node.seen = slices.DeleteFunc(node.local, same), 0
		s.dropIfEmpty(node)
	}
	if entry.shared {
		s.sharedPools = slices.DeleteFunc(s.sharedPools, same)
		s.sharing++
	}
	entry.nodes, entry.shared = nil, false
}

func insertPool(list []*poolEntry, entry *poolEntry) []*poolEntry {
	at, _ := slices.BinarySearchFunc(list, entry.pool.ID, func(other *poolEntry, id PoolID) int {
		if c := compareStrings(other.pool.ID.Driver, id.Driver); c != 0 {
			return c
		}
		return compareStrings(other.pool.ID.Pool, id.Pool)
	})
	return slices.Insert(list, at, entry)
}

func (s *State) dropPoolIfEmpty(id PoolID, entry *poolEntry) {
	if len(entry.slices) == 0 && len(entry.held) == 0 {
		delete(s.pools, id)
		s.numbers = append(s.numbers, entry.number)
	}
}
