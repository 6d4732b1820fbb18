package model

import (
	"fmt"
	"iter"
)

// changes keeps the nodes in the order of their last change, so that a cache of results for
// thousands of nodes finds the few that changed, whatever the total number of changes.
type changes struct {
	last    *NodeInfo
	version uint64
	shared  uint64 // see SharedVersion
	pools   uint64 // version of the pool that changed last
}

// Changes returns a version that increases with every change of a node's free resources, its ports,
// and the devices that only this node can use.
func (s *NodeStore) Changes() uint64 {
	s.state.Devices.settle()
	return s.changes.version
}

// ChangedSince returns the nodes with such a change after Changes returned the version, the most
// recent change first. It does not report new or deleted nodes, or changed labels and taints: see
// Version.
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

// SharedVersion returns a version that increases with every change of devices that several nodes
// can use, and of their holders.
func (s *DeviceStore) SharedVersion() uint64 {
	s.settle()
	return s.state.Nodes.changes.shared
}

// recordPool records that the available devices of a pool have changed.
func (c *changes) recordPool(entry *poolEntry) {
	if entry.shared {
		c.shared++
		return
	}
	for _, node := range entry.nodes {
		c.moveToEnd(node)
	}
}

// renew gives a pool a new version.
func (c *changes) renew(entry *poolEntry) {
	c.pools++
	entry.version = c.pools
}

// moveToEnd moves the node to the end of the order.
func (c *changes) moveToEnd(info *NodeInfo) {
	c.version++
	if c.last != info {
		c.remove(info)
		if info.before = c.last; c.last != nil {
			c.last.after = info
		}
		c.last = info
	}
	info.changed = c.version
}

// remove removes the node from the order, if it is there.
func (c *changes) remove(info *NodeInfo) {
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

// audit checks the order of changes, which no dump shows because it depends on the history.
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
