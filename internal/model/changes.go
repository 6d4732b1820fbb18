package model

import (
	"fmt"
	"iter"
)

// changes has the nodes in the order in which they changed last: whoever has worked out something about each of thousands
// finds the few for which it no longer holds, however much happened meanwhile.
type changes struct {
	last    *NodeInfo
	version uint64
	shared  uint64 // see SharedVersion
}

// Changes grows with every change of what a node has left: of its resources, its ports, and the devices of it alone.
func (s *NodeStore) Changes() uint64 {
	s.state.Devices.settle()
	return s.changes.version
}

// ChangedSince are the nodes with such a change after Changes had answered with the version; the last to change comes first.
// Which nodes there are, and what they look like, is for Version to tell.
func (s *NodeStore) ChangedSince(version uint64) iter.Seq[*NodeInfo] {
	s.state.Devices.settle()
	return func(yield func(*NodeInfo) bool) {
		for info := s.changes.last; info != nil && info.changed > version; info = info.before {
			if !yield(info) {
				return
			}
		}
	}
}

// SharedVersion grows with every change of devices that more than one node may use, or of who has them.
func (s *DeviceStore) SharedVersion() uint64 {
	s.settle()
	return s.state.Nodes.changes.shared
}

// notePool notes that other devices of a pool can be had than before.
func (c *changes) notePool(entry *poolEntry) {
	if entry.shared {
		c.shared++
		return
	}
	for _, node := range entry.nodes {
		c.note(node)
	}
}

// note makes the node the last that changed.
func (c *changes) note(info *NodeInfo) {
	c.version++
	if c.last != info {
		c.drop(info)
		if info.before = c.last; c.last != nil {
			c.last.after = info
		}
		c.last = info
	}
	info.changed = c.version
}

// drop takes the node out of the order; it need not be there.
func (c *changes) drop(info *NodeInfo) {
	if c.last == info {
		c.last = info.before
	}
	if info.before != nil {
		info.before.after = info.after
	}
	if info.after != nil {
		info.after.before = info.before
	}
	info.before, info.after = nil, nil
}

// audit checks the order, which no dump shows: it depends on what was done.
func (s *NodeStore) audit() error {
	version := s.changes.version + 1
	for info := s.changes.last; info != nil; info = info.before {
		if info.changed >= version || s.byName[info.Name] != info || info.before != nil && info.before.after != info {
			return fmt.Errorf("state has drifted: node %s is not in its place among those that changed", info.Name)
		}
		version = info.changed
	}
	return nil
}

// changeLink is the place of a node in the order of changes.
type changeLink struct {
	changed       uint64 // version of changes when the node changed last
	before, after *NodeInfo
}
