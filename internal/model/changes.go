package model

import "iter"

// changes has the nodes in the order in which they changed last: whoever has worked out something about each of thousands
// finds the few for which it no longer holds, however much happened meanwhile.
type changes struct {
	last    *NodeInfo
	version uint64
}

// Changes grows with every change of what a node has left: of its resources, its ports, and the devices of it alone.
func (s *State) Changes() uint64 {
	s.settle()
	return s.changes.version
}

// ChangedSince are the nodes of which something is left, or not, that was otherwise when Changes answered with the version; the
// last to change comes first. Those that came or went are told by NodesVersion.
func (s *State) ChangedSince(version uint64) iter.Seq[*NodeInfo] {
	s.settle()
	return func(yield func(*NodeInfo) bool) {
		for info := s.changes.last; info != nil && info.changed > version; info = info.before {
			if !yield(info) {
				return
			}
		}
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
