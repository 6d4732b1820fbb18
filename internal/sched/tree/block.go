package tree

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// block finds places for the pods of a block on some of the nodes, and continues. It tries to place
// as many of its groups as possible, with all of their pods, and at least what is needed.
func (p *Placement) block(t *model.Tree, nodes []*model.NodeInfo, then func() bool) bool {
	return p.choices(t, func(chosen []*model.Tree) bool {
		if p.joint {
			return p.choose(flat(p.state, p.unit, chosen, false), nodes, then)
		}
		whole := flat(p.state, p.unit, chosen, true)
		if len(chosen) == 1 {
			whole.Min = max(1, chosen[0].Need()) // the best result has as many as fit
			return p.pods(t, whole, nodes, then)
		}
		if p.pods(t, whole, nodes, then) {
			return true
		}
		needed := flat(p.state, p.unit, chosen, false)
		return len(needed.Pods) < len(whole.Pods) && p.pods(t, needed, nodes, then)
	})
}

// choose has the pods of a unit placed on some of the nodes, together with others.
func (p *Placement) choose(unit *model.Unit, nodes []*model.NodeInfo, then func() bool) bool {
	p.parts = append(p.parts, placement.Part{Pods: unit.Pods, Nodes: nodes})
	if then() {
		return true
	}
	p.parts = p.parts[:len(p.parts)-1]
	return false
}

// pods places all pods of a unit, and continues.
func (p *Placement) pods(t *model.Tree, unit *model.Unit, nodes []*model.NodeInfo, then func() bool) bool {
	if len(unit.Pods) == 0 {
		return then()
	}
	if p.exhausted() {
		return false
	}
	options := p.options
	options.Only, options.Where, options.Steps = nodes, p.domain, p.stepsLeft
	attempt := placement.New(p.caches, p.tx, unit, options)
	p.tried = true
	made, reasons := attempt.Run()
	p.charge(attempt)
	if made == nil {
		p.undecided = p.undecided || reasons.Code == reason.Undecided
		p.note(t, "does not fit", reasons)
		return false
	}
	start := p.tx.Mark()
	made.Assume(p.state)
	p.plans, p.placed = append(p.plans, made), p.placed+len(made.Pods)
	if then() {
		return true
	}
	p.plans, p.placed = p.plans[:len(p.plans)-1], p.placed-len(made.Pods)
	p.tx.UndoTo(start)
	return false
}

// flat returns a unit of the pods of some PodGroups, all of which must be placed: all that wait, or
// as many as are needed, those that request the least.
func flat(state *model.State, of *model.Unit, leaves []*model.Tree, all bool) *model.Unit {
	unit := *of
	unit.Pods = nil
	for _, leaf := range leaves {
		ready := slices.DeleteFunc(state.Groups.Members(leaf.Group.Key), func(pod *model.Pod) bool { return !pod.Ready() })
		if need := leaf.Need(); !all && need < len(ready) {
			slices.SortStableFunc(ready, smallestFirst)
			ready = ready[:need]
		}
		unit.Pods = append(unit.Pods, ready...)
	}
	unit.Min = max(1, len(unit.Pods))
	return &unit
}

func smallestFirst(a, b *model.Pod) int {
	x, y := a.Shape.Requests, b.Shape.Requests
	return cmp.Or(
		cmp.Compare(x[corev1.ResourceCPU], y[corev1.ResourceCPU]),
		cmp.Compare(x[corev1.ResourceMemory], y[corev1.ResourceMemory]),
		cmp.Compare(len(a.Claims), len(b.Claims)),
	)
}

// choices calls try with PodGroups with which t is placed, the largest choice first, until it
// reports true.
func (p *Placement) choices(t *model.Tree, try func([]*model.Tree) bool) bool {
	switch {
	case t.IsPlaced():
		return try(nil)
	case t.Problem != "":
		return false
	case t.Group != nil:
		return try([]*model.Tree{t})
	}
	able := slices.DeleteFunc(p.likeness.ordered(t.Children), func(child *model.Tree) bool { return !child.CanBePlaced() })
	for size := len(able); size >= t.Min(); size-- {
		if p.exhausted() {
			return false
		}
		if p.combinations(able, size, nil, try) {
			return true
		}
	}
	return false
}

// combinations calls try with the choices of size of the groups. Of groups that are alike, the first
// ones are chosen.
func (p *Placement) combinations(
	groups []*model.Tree,
	size int,
	chosen []*model.Tree,
	try func([]*model.Tree) bool,
) bool {
	switch {
	case size == 0:
		return try(chosen)
	case len(groups) < size || p.exhausted():
		return false
	}
	first := groups[0]
	with := func(more []*model.Tree) bool {
		return p.combinations(groups[1:], size-1, append(slices.Clip(chosen), more...), try)
	}
	if p.choices(first, with) {
		return true
	}
	rest := groups[1:]
	for len(rest) > 0 && p.likeness.areAlike(first, rest[0]) {
		rest = rest[1:]
	}
	return p.combinations(rest, size, chosen, try)
}
