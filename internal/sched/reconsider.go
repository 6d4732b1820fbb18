package sched

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// reconsider searches for a way to place at least target members where filling found none: other
// nodes and other devices for earlier members, and another order of members where that matters. It
// leaves its placements in the trial if it succeeds, and nothing otherwise.
func (j *job) reconsider(target int) bool {
	r := &reconsideration{job: j, target: target, skips: j.inCount() - target}
	ordered := false
	for _, c := range j.hardestFirst() {
		ordered = ordered || c.fitter.DependsOnOrder()
		r.turns = append(r.turns, &turn{class: c})
	}
	for _, t := range r.turns {
		if ordered {
			t.nodes = j.possible(t.class)
		} else {
			t.nodes = j.candidates(t.class, nil).Nodes()
		}
	}
	found := false
	if ordered {
		r.seen = map[string]bool{}
		found = r.anyOrder()
	} else {
		found = r.from(0, 0, 0)
	}
	if !found {
		return false
	}
	// The others get what is left.
	for _, t := range r.turns {
		j.fill(t.class, t.class.members[t.placed:])
	}
	return true
}

// reconsideration is a depth-first search over the members, the nodes of each, and the devices on each node.
type reconsideration struct {
	job    *job
	target int
	skips  int // how many members may be left out
	turns  []*turn

	// For any order: the trials that failed, in whatever order they were reached, and what is
	// placed.
	seen map[string]bool
	here []string
}

// turn is a class with the nodes that its members may go to.
type turn struct {
	class  *class
	nodes  []*model.NodeInfo
	placed int // members, the first ones
}

// from continues with the next member of turn at; skipped members were left out. Members of one
// class take nodes in rising order, from first on, as they are interchangeable.
func (r *reconsideration) from(at, first, skipped int) bool {
	j := r.job
	if len(j.placements) >= r.target {
		return true
	}
	j.progress()
	if at == len(r.turns) {
		return false
	}
	t := r.turns[at]
	if t.placed == len(t.class.members) {
		return r.from(at+1, 0, skipped)
	}
	for n := first; n < len(t.nodes); n++ {
		if r.on(t, t.nodes[n], func(alloc.Choice) bool { return r.from(at, n, skipped) }) {
			return true
		}
		if j.exhausted {
			return false
		}
	}
	// Leaving out a member of a class is leaving out all that follow: they could take its place.
	if skipped += len(t.class.members) - t.placed; skipped > r.skips {
		return false
	}
	return r.from(at+1, 0, skipped)
}

// anyOrder continues with a member of any class on any node.
func (r *reconsideration) anyOrder() bool {
	j := r.job
	if len(j.placements) >= r.target {
		return true
	}
	j.progress()
	key := r.key()
	if r.seen[key] {
		return false
	}
	for at, t := range r.turns {
		if t.placed == len(t.class.members) {
			continue
		}
		for n, info := range t.nodes {
			goOn := func(choice alloc.Choice) bool {
				r.here = append(r.here, fmt.Sprintf("%d on %d %s", at, n, choice.Key()))
				found := r.anyOrder()
				r.here = r.here[:len(r.here)-1]
				return found
			}
			if r.on(t, info, goOn) {
				return true
			}
			if j.exhausted {
				return false
			}
		}
	}
	r.seen[key] = true
	return false
}

// key is equal for trials with as many members of each class on each node, with the same devices.
func (r *reconsideration) key() string {
	here := slices.Clone(r.here)
	slices.Sort(here)
	return strings.Join(here, ";")
}

// on tries the turn's next member on one node, with each choice of devices.
func (r *reconsideration) on(t *turn, info *model.NodeInfo, goOn func(alloc.Choice) bool) bool {
	j := r.job
	if !j.budget.Step() {
		j.exhausted = true
		return false
	}
	m := t.class.members[t.placed]
	if j.dynamic(t.class, info).Failed() || !j.reservable(m) || !j.mountable(t.class) {
		return false
	}
	try := func(choice alloc.Choice) bool {
		draws, miss := j.draws(m, info, choice)
		if miss.Failed() {
			return false
		}
		mark := j.mark()
		j.put(m, info, choice, draws)
		t.placed++
		if goOn(choice) {
			return true
		}
		t.placed--
		j.undo(mark)
		return false
	}
	board, reason := j.board(t.class, m, info)
	if reason != nil {
		return false
	}
	if board == nil {
		return try(nil)
	}
	if board.Search(j.budget, try) == alloc.Accepted {
		return true
	}
	j.exhausted = j.exhausted || j.budget.Spent >= j.budget.Limit
	return false
}
