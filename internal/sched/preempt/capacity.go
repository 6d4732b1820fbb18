package preempt

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// podCapacity counts, per pod shape, how many pods of the unit fit on a set of nodes by resources
// alone. It proves quickly that too few victims are evicted; most attempts of a preemption fail
// because of that.
type podCapacity struct {
	unit     *model.Unit
	base     int // mark of the trial
	nodes    []*model.NodeInfo
	examined int // number of nodes that were examined, each shape by itself
	shapes   []shapeCapacity
}

// shapeCapacity is the capacity for the pods of one shape.
type shapeCapacity struct {
	fitter  *nodefit.Fitter
	pods    int
	total   int            // number of pods that fit without evictions
	indices map[string]int // indices of nodes, by name
	nodes   []nodeCapacity
	freed   []int // nodes with evicted pods in the current count
	count   int   // number of the current count
}

// nodeCapacity is the amount that a suitable node has left, and the number of pods for which that
// is sufficient.
type nodeCapacity struct {
	free  nodefit.Free
	pods  int
	now   nodefit.Free // resources that are left in a count
	count int          // number of that count
}

// newPodCapacity counts with the trial at its base. nodes may be nil, which means all.
func newPodCapacity(t *trial, unit *model.Unit, nodes []*model.NodeInfo) *podCapacity {
	c := &podCapacity{unit: unit, base: t.base, nodes: nodes}
	if nodes == nil {
		nodes = t.state.Nodes.List()
	}
	for _, pods := range podsByShape(unit) {
		shape := newShapeCapacity(t.state, pods[0].Shape, nodes)
		shape.pods = len(pods)
		c.shapes = append(c.shapes, shape)
	}
	c.examined = len(c.shapes) * len(nodes)
	return c
}

// podsByShape returns the unit's pods by shape, in the order of the first pod of each shape.
func podsByShape(unit *model.Unit) [][]*model.Pod {
	var groups [][]*model.Pod
	known := map[string]int{}
	for _, pod := range unit.Pods {
		at, ok := known[pod.Shape.ID]
		if !ok {
			at = len(groups)
			known[pod.Shape.ID] = at
			groups = append(groups, nil)
		}
		groups[at] = append(groups[at], pod)
	}
	return groups
}

func newShapeCapacity(state *model.State, shape *model.Shape, nodes []*model.NodeInfo) shapeCapacity {
	s := shapeCapacity{fitter: nodefit.New(state, shape), indices: make(map[string]int, len(nodes))}
	for _, info := range nodes {
		if s.fitter.Static(info).Failed() {
			continue
		}
		n := nodeCapacity{free: s.fitter.FreeOf(info), pods: s.fitter.Fits(info)}
		s.indices[info.Name] = len(s.nodes)
		s.nodes = append(s.nodes, n)
		s.total += n.pods
	}
	return s
}

// isOf reports whether this is the capacity for a unit on some nodes, counted with the same base.
func (c *podCapacity) isOf(t *trial, unit *model.Unit, nodes []*model.NodeInfo) bool {
	return c != nil && c.unit == unit && c.base == t.base && areSameNodes(c.nodes, nodes)
}

// areSameNodes reports whether two lists are the same one.
func areSameNodes(a, b []*model.NodeInfo) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// isInsufficient reports whether the nodes have too few resources for the unit even without the
// victims.
func (c *podCapacity) isInsufficient(victims []*victim) bool {
	members := 0
	for i := range c.shapes {
		s := &c.shapes[i]
		members += min(s.pods, s.total+s.gain(victims))
	}
	return members < c.unit.Min
}

// gain returns how many more pods fit without the victims.
func (s *shapeCapacity) gain(victims []*victim) int {
	s.freed = s.freed[:0]
	s.count++
	for _, v := range victims {
		for _, pod := range v.pods {
			at, suitable := s.indices[pod.Node]
			if !suitable {
				continue
			}
			n := &s.nodes[at]
			if n.count != s.count {
				n.count, n.now = s.count, append(n.now[:0], n.free...)
				s.freed = append(s.freed, at)
			}
			s.fitter.Add(n.now, pod)
		}
	}
	gain := 0
	for _, at := range s.freed {
		gain += s.fitter.FitsInto(s.nodes[at].now) - s.nodes[at].pods
	}
	return gain
}

// victimsPerStep is how many victims, or nodes, are counted in the time of a step.
const victimsPerStep = 16
