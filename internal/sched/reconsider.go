package sched

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// reconsider searches for a way to place at least Min members where filling found none: other nodes and other
// devices for earlier members. It leaves its placements in the trial if it succeeds, and nothing if it does not.
func (j *job) reconsider() {
	r := &reconsideration{job: j, skips: j.inCount() - j.unit.Min}
	for _, c := range j.hardestFirst() {
		nodes := j.possible(c)
		if list := j.candidates(c, c.problem); len(c.fitter.shape.Terms.Affinity)+len(c.fitter.spreads) == 0 {
			nodes = nodesOf(list)
		}
		for _, m := range c.members {
			r.order = append(r.order, turn{member: m, class: c, nodes: nodes})
		}
	}
	if !r.from(0, 0, 0) {
		return
	}
	// Min members have a place; the others get what is left.
	placed := map[model.Key]bool{}
	for i := range j.placements {
		placed[j.placements[i].Pod] = true
	}
	for _, c := range j.in() {
		left := &class{fitter: c.fitter, given: c.given, problem: c.problem}
		for _, m := range c.members {
			if !placed[m.pod.Key] {
				left.members = append(left.members, m)
			}
		}
		j.fill(left)
	}
}

func nodesOf(list []candidate) []*model.NodeInfo {
	nodes := make([]*model.NodeInfo, len(list))
	for i := range list {
		nodes[i] = list[i].node
	}
	return nodes
}

// reconsideration is a depth-first search over the members in order, the nodes of each, and the devices on each node.
type reconsideration struct {
	job   *job
	order []turn
	skips int // how many members may be left out
}

type turn struct {
	member *member
	class  *class
	nodes  []*model.NodeInfo
}

// from goes on with turn at; skipped members were left out. Members of one class take nodes in rising order, from
// first on, as they can be swapped.
func (r *reconsideration) from(at, first, skipped int) bool {
	j := r.job
	if len(j.placements) >= j.unit.Min {
		return true
	}
	if at == len(r.order) {
		return false
	}
	t := &r.order[at]
	for n := first; n < len(t.nodes); n++ {
		if !j.budget.Step() {
			j.exhausted = true
			return false
		}
		if r.on(at, n, skipped) {
			return true
		}
		if j.exhausted {
			return false
		}
	}
	// Leaving out a member of a class is leaving out all that follow: they could take its place.
	next := at + 1
	for next < len(r.order) && r.order[next].class == t.class {
		next++
	}
	if skipped += next - at; skipped > r.skips {
		return false
	}
	return r.from(next, 0, skipped)
}

// on tries the member on one node, with each choice of devices.
func (r *reconsideration) on(at, n, skipped int) bool {
	j, t := r.job, &r.order[at]
	info := t.nodes[n]
	if t.class.fitter.dynamic(j.state, info).check != "" || !j.reservable(t.member) {
		return false
	}
	goOn := func(choice alloc.Choice) bool {
		mark := j.mark()
		j.put(t.member, info, choice)
		first := 0
		if at+1 < len(r.order) && r.order[at+1].class == t.class {
			first = n
		}
		if r.from(at+1, first, skipped) {
			return true
		}
		j.undo(mark)
		return false
	}
	if t.class.problem == nil {
		return goOn(nil)
	}
	board, reason := t.class.problem.With(t.member.own).On(info)
	if reason != nil {
		return false
	}
	if board.Search(j.budget, goOn) == alloc.Accepted {
		return true
	}
	j.exhausted = j.exhausted || j.budget.Spent >= j.budget.Limit
	return false
}
