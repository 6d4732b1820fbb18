package sched

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// census counts how many pods of a unit fit on some nodes by resources alone, each shape by itself.
// It proves quickly that too few victims are evicted; most attempts of a preemption fail by that.
type census struct {
	unit   *model.Unit
	base   int // mark of the trial
	nodes  []*model.NodeInfo
	looked int // number of nodes, each shape by itself
	shapes []shapeCensus
}

// shapeCensus is the part of the pods of one shape.
type shapeCensus struct {
	fitter *nodefit.Fitter
	pods   int
	total  int // that fit without evictions
	at     map[string]int
	nodes  []nodeCensus
	freed  []int // nodes with evicted pods in the current count
	count  int   // its number
}

// nodeCensus is what a suitable node has left, and for how many pods that is sufficient.
type nodeCensus struct {
	free  nodefit.Free
	pods  int
	now   nodefit.Free // what it has left in a count
	count int          // the number of that
}

// newCensus counts with the trial at its base.
func (r *room) newCensus(unit *model.Unit, nodes []*model.NodeInfo) *census {
	t := &census{unit: unit, base: r.base, nodes: nodes}
	if nodes == nil {
		nodes = r.state.Nodes.List()
	}
	for _, alike := range podsByShape(unit) {
		shape := newShapeCensus(r.state, alike[0].Shape, nodes)
		shape.pods = len(alike)
		t.shapes = append(t.shapes, shape)
	}
	t.looked = len(t.shapes) * len(nodes)
	return t
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

func newShapeCensus(state *model.State, shape *model.Shape, nodes []*model.NodeInfo) shapeCensus {
	s := shapeCensus{fitter: nodefit.New(state, shape), at: make(map[string]int, len(nodes))}
	for _, info := range nodes {
		if s.fitter.Static(info).Failed() {
			continue
		}
		n := nodeCensus{free: s.fitter.FreeOf(info), pods: s.fitter.Fits(info)}
		s.at[info.Name] = len(s.nodes)
		s.nodes = append(s.nodes, n)
		s.total += n.pods
	}
	return s
}

// lacks reports whether the nodes have too few resources for the unit even without the victims.
func (t *census) lacks(victims []*victim) bool {
	members := 0
	for i := range t.shapes {
		s := &t.shapes[i]
		members += min(s.pods, s.total+s.gain(victims))
	}
	return members < t.unit.Min
}

// gain returns how many more pods fit without the victims.
func (s *shapeCensus) gain(victims []*victim) int {
	s.freed = s.freed[:0]
	s.count++
	for _, v := range victims {
		for _, pod := range v.pods {
			at, suits := s.at[pod.Node]
			if !suits {
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

// victimsAStep is how many victims, or nodes, are counted in the time of a step.
const victimsAStep = 16

// lacks reports, without an attempt, whether the unit cannot be placed without these victims. The
// trial is at its base.
func (r *room) lacks(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) bool {
	// What devices provide of a node's resources is counted by claims, not by pods.
	if len(unit.Pods) == 1 || r.state.Devices.HasDraws() {
		return false
	}
	if t := r.census; t == nil || t.unit != unit || t.base != r.base || !sameNodes(t.nodes, nodes) {
		r.census = r.newCensus(unit, nodes)
		r.left -= r.census.looked / victimsAStep
	}
	r.left -= 1 + len(victims)/victimsAStep
	return r.census.lacks(closed(victims))
}

// sameNodes reports whether two lists are the same one.
func sameNodes(a, b []*model.NodeInfo) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
