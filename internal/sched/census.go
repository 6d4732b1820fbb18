package sched

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// census counts how many pods of a unit the resources of some nodes have room for, each shape by itself. It proves quickly
// that too few victims leave; most attempts of a search for room fail by that.
type census struct {
	unit   *model.Unit
	base   int // mark of the trial
	nodes  []*model.NodeInfo
	looked int // at how many nodes, each shape by itself
	shapes []shapeCensus
}

// shapeCensus is the part of the pods of one shape.
type shapeCensus struct {
	fitter *nodefit.Fitter
	pods   int
	total  int // for how many there is room while nobody leaves
	at     map[string]int
	nodes  []nodeCensus
	freed  []int // nodes where somebody has left, in the count under way
	count  int   // its number
}

// nodeCensus is what a node that suits the pods has left, and how many of them that is for.
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

// podsByShape are the unit's pods, those of one shape together, in the order in which the shapes come first.
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

// lacks says whether the nodes have too little for the unit even when the victims are gone. It counts by resources alone.
func (t *census) lacks(victims []*victim) bool {
	members := 0
	for i := range t.shapes {
		s := &t.shapes[i]
		members += min(s.pods, s.total+s.gain(victims))
	}
	return members < t.unit.Min
}

// gain is how many more pods there is room for when the victims are gone.
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

// lacks says without an attempt that the unit has no room with these victims gone. The trial is at its base.
func (r *room) lacks(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) bool {
	// What devices give to pods of a node's resources is counted by claims, not by pods.
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

// sameNodes says whether two lists are one.
func sameNodes(a, b []*model.NodeInfo) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
