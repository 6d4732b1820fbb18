package nodefit

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// NodeSet are the nodes that pass the Static checks for a shape.
type NodeSet struct {
	Nodes         []*model.NodeInfo // by name; the State's own list if these are all its nodes
	HasSoftTaints bool              // some nodes have taints with PreferNoSchedule that the pods do not tolerate

	version uint64
	seen    bool
}

// SeenBefore reports whether it was called before.
func (s *NodeSet) SeenBefore() bool {
	before := s.seen
	s.seen = true
	return before
}

// Cache has the NodeSets of shapes.
type Cache struct {
	state *model.State
	sets  map[string]*NodeSet // by shape
}

// MaxShapes is how many shapes are remembered; beyond, all are forgotten.
const MaxShapes = 4096

// NewCache returns an empty Cache.
func NewCache(state *model.State) *Cache { return &Cache{state: state, sets: map[string]*NodeSet{}} }

// Suitable returns the nodes for the fitter's shape.
func (c *Cache) Suitable(f *Fitter) *NodeSet {
	known := c.sets[f.Shape.ID]
	if known != nil && known.version == c.state.Nodes.Version() {
		return known
	}
	if len(c.sets) >= MaxShapes {
		clear(c.sets)
	}
	known = &NodeSet{version: c.state.Nodes.Version(), Nodes: f.Suitable(c.state.Nodes.List())}
	known.HasSoftTaints = slices.ContainsFunc(known.Nodes,
		func(info *model.NodeInfo) bool { return f.SoftTaints(info) > 0 })
	c.sets[f.Shape.ID] = known
	return known
}
