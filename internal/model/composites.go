package model

import "slices"

// CompositeStore holds the CompositePodGroups with their children.
type CompositeStore struct {
	entries map[Key]*compositeEntry
	log     *undoLog
}

// compositeEntry is a CompositePodGroup that exists, or that children name.
type compositeEntry struct {
	composite *Composite // nil if it does not exist
	// names of the children, sorted
	groups, composites []string
}

func newCompositeStore(log *undoLog) CompositeStore {
	return CompositeStore{entries: map[Key]*compositeEntry{}, log: log}
}

// Get returns a CompositePodGroup.
func (s *CompositeStore) Get(key Key) (*Composite, bool) {
	entry, ok := s.entries[key]
	if !ok || entry.composite == nil {
		return nil, false
	}
	return entry.composite, true
}

// Put adds or replaces a CompositePodGroup.
func (s *CompositeStore) Put(c *Composite) []Topic {
	if old, ok := s.Get(c.Key); ok && outdated(old.UID, c.UID, old.Version, c.Version) {
		return nil
	}
	s.set(c.Key, c)
	return []Topic{{Kind: TopicTree, Key: c.Key}}
}

// Delete removes a CompositePodGroup.
func (s *CompositeStore) Delete(key Key) []Topic {
	if _, ok := s.Get(key); !ok {
		return nil
	}
	s.set(key, nil)
	return []Topic{{Kind: TopicTree, Key: key}}
}

func (s *CompositeStore) set(key Key, c *Composite) {
	entry := s.entry(key)
	old := entry.composite
	s.log.record(func() { s.set(key, old) })
	entry.composite = c
	before, after := "", ""
	if old != nil {
		before = old.Parent
	}
	if c != nil {
		after = c.Parent
	}
	if before != after {
		s.move(key, before, after, func(e *compositeEntry) *[]string { return &e.composites })
	}
	s.dropIfEmpty(key)
}

// setParent moves a PodGroup from one CompositePodGroup to another; either name may be "".
func (s *CompositeStore) setParent(group Key, before, after string) {
	if before != after {
		s.move(group, before, after, func(e *compositeEntry) *[]string { return &e.groups })
	}
}

// move removes a child from the children of one CompositePodGroup and adds it to those of another.
func (s *CompositeStore) move(child Key, before, after string, children func(*compositeEntry) *[]string) {
	if before != "" {
		key := Key{Namespace: child.Namespace, Name: before}
		list := children(s.entry(key))
		*list = slices.DeleteFunc(*list, func(name string) bool { return name == child.Name })
		s.dropIfEmpty(key)
	}
	if after != "" {
		list := children(s.entry(Key{Namespace: child.Namespace, Name: after}))
		if at, known := slices.BinarySearch(*list, child.Name); !known {
			*list = slices.Insert(*list, at, child.Name)
		}
	}
}

func (s *CompositeStore) entry(key Key) *compositeEntry {
	entry, ok := s.entries[key]
	if !ok {
		entry = &compositeEntry{}
		s.entries[key] = entry
	}
	return entry
}

func (s *CompositeStore) dropIfEmpty(key Key) {
	if e := s.entries[key]; e != nil && e.composite == nil && len(e.groups) == 0 && len(e.composites) == 0 {
		delete(s.entries, key)
	}
}
