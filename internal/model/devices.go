package model

import "slices"

// DeviceStore holds the ResourceSlices, the pools that they make up, and the holders of devices.
type DeviceStore struct {
	pools       map[PoolID]*poolEntry
	numbers     []int // numbers of pools that were deleted, to be used again
	slices      map[string]*Slice
	drawing     int          // number of pools with devices that draw from nodes
	sharedPools []*poolEntry // pools with devices that several nodes can use; by ID
	sharing     uint64       // increases with every change of sharedPools
	stale       []*poolEntry // pools whose slices have changed; see settle
	quarantined map[DeviceID]bool
	state       *State
	log         *undoLog
}

func newDeviceStore(s *State) DeviceStore {
	return DeviceStore{
		pools: map[PoolID]*poolEntry{}, slices: map[string]*Slice{}, quarantined: map[DeviceID]bool{}, sharing: 1, state: s,
		log: &s.log,
	}
}

// Pools returns the pools with devices that the node can use: first the pools that only this node
// can use, then the others by ID.
func (s *DeviceStore) Pools(node *NodeInfo) []PoolView {
	s.settle()
	if node.seen == s.sharing {
		return node.views
	}
	var views []PoolView
	for _, entry := range node.local {
		if !entry.shared {
			views = append(views, PoolView{Pool: entry.pool, Reach: entry.pool.usableFrom(node), entry: entry})
		}
	}
	for _, entry := range s.sharedPools {
		if devices := entry.pool.usableFrom(node); devices != nil {
			views = append(views, PoolView{Pool: entry.pool, Reach: devices, entry: entry})
		}
	}
	node.views, node.seen = views, s.sharing
	return views
}

// FreeLocal returns the number of free devices that only this node can use.
func (s *DeviceStore) FreeLocal(node *NodeInfo) int {
	s.settle()
	free := 0
	for _, entry := range node.local {
		if !entry.shared {
			free += len(entry.pool.Devices) - entry.inUse.Len()
		}
	}
	return free
}

// Pool returns a published pool.
func (s *DeviceStore) Pool(id PoolID) (*Pool, bool) {
	s.settle()
	entry, ok := s.pools[id]
	if !ok || entry.pool == nil {
		return nil, false
	}
	return entry.pool, true
}

// Holders returns what holds the device, whether or not it is published.
func (s *DeviceStore) Holders(id DeviceID) []Holder {
	entry, ok := s.pools[id.PoolID()]
	if !ok {
		return nil
	}
	return entry.holdings[id.Device].holders
}

// View returns a view of a published pool in which all devices are in reach. No node need have this
// view.
func (s *DeviceStore) View(id PoolID) (PoolView, bool) {
	s.settle()
	entry, ok := s.pools[id]
	if !ok || entry.pool == nil {
		return PoolView{}, false
	}
	return PoolView{Pool: entry.pool, Reach: FullBits(len(entry.pool.Devices)), entry: entry}, true
}

// PutSlice adds or replaces a slice of a pool.
func (s *DeviceStore) PutSlice(slice *Slice) []Topic {
	old := s.slices[slice.Name]
	if old != nil && outdated(old.UID, slice.UID, old.Version, slice.Version) {
		return nil
	}
	if sameSlice(old, slice) {
		// Keep the Pool, because alloc caches results by its address.
		version := old.Version
		s.log.record(func() { old.Version = version })
		old.Version = slice.Version
		return nil
	}
	s.setSlice(slice.Name, slice)
	return []Topic{{Kind: TopicDevices}}
}

// DeleteSlice removes a slice. Claims that hold its devices keep them.
func (s *DeviceStore) DeleteSlice(name string) []Topic {
	if _, ok := s.slices[name]; !ok {
		return nil
	}
	s.setSlice(name, nil)
	// An older generation, or a pool that had too many slices, may be usable now.
	return []Topic{{Kind: TopicDevices}}
}

func (s *DeviceStore) setSlice(name string, slice *Slice) {
	old := s.slices[name]
	s.log.record(func() { s.setSlice(name, old) })
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

// changePool marks the pool to be built before its next use, because the slices of a pool often
// arrive one after the other. A pool without slices is removed immediately.
func (s *DeviceStore) changePool(id PoolID, entry *poolEntry) {
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

// settle builds the pools whose slices have changed. Every method that reads values derived from
// pools calls it first.
func (s *DeviceStore) settle() {
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

func (s *DeviceStore) poolEntry(id PoolID) *poolEntry {
	entry, ok := s.pools[id]
	if !ok {
		entry = &poolEntry{number: len(s.pools)}
		if last := len(s.numbers) - 1; last >= 0 {
			entry.number, s.numbers = s.numbers[last], s.numbers[:last]
		}
		s.state.Nodes.changes.renew(entry)
		s.pools[id] = entry
	}
	return entry
}

func (s *DeviceStore) clearPool(entry *poolEntry) {
	s.state.Nodes.changes.renew(entry)
	s.unlistPool(entry)
	if entry.pool != nil && entry.pool.draws() {
		s.drawing--
	}
	entry.pool, entry.inUse, entry.rules, entry.stale = nil, nil, nil, false
}

// rebuildPool takes time in proportion to the size of the pool, and invalidates the cached views of
// the nodes that can use the pool.
func (s *DeviceStore) rebuildPool(entry *poolEntry) {
	s.clearPool(entry)
	entry.pool = newPool(entry.slices)
	entry.rules = s.state.TaintRules.taintsOf(entry.pool)
	if entry.pool.draws() {
		s.drawing++
	}
	entry.inUse = NewBits(len(entry.pool.Devices))
	for device := range entry.holdings {
		if i, ok := entry.pool.Index(device); ok {
			entry.inUse.Set(i)
		}
	}
	s.listPool(entry)
}

func (s *DeviceStore) listPool(entry *poolEntry) {
	for i := range entry.pool.reaches {
		scope := &entry.pool.reaches[i].scope
		if scope.Node == "" {
			entry.shared = true
			continue
		}
		entry.nodes = append(entry.nodes, s.state.Nodes.info(scope.Node))
	}
	// The nodes of a pool with devices of several nodes each reach other devices.
	entry.shared = entry.shared || len(entry.nodes) > 1
	for _, node := range entry.nodes {
		node.local, node.seen = insertPool(node.local, entry), 0
	}
	if entry.shared {
		s.sharedPools = insertPool(s.sharedPools, entry)
		s.sharing++
	}
	s.state.Nodes.changes.recordPool(entry)
}

func (s *DeviceStore) unlistPool(entry *poolEntry) {
	s.state.Nodes.changes.recordPool(entry)
	same := func(other *poolEntry) bool { return other == entry }
	for _, node := range entry.nodes {
		node.local, node.seen = slices.DeleteFunc(node.local, same), 0
		s.state.Nodes.dropIfEmpty(node)
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

func (s *DeviceStore) dropPoolIfEmpty(id PoolID, entry *poolEntry) {
	if len(entry.slices) == 0 && len(entry.holdings) == 0 {
		delete(s.pools, id)
		s.numbers = append(s.numbers, entry.number)
	}
}
