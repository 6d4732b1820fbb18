package placement

import (
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// backtracker is a depth-first search over the members, the nodes of each, and the devices on each
// node.
type backtracker struct {
	filler  *filler
	best    *best
	target  int // members to place
	skips   int // how many members may be skipped
	cursors []*classCursor

	// failed and here are for a search in any order: the keys of the trials that failed, in
	// whatever order they were reached, and what the current trial has placed.
	failed map[string]bool
	here   []string
}

// classCursor is a class with the nodes on which its members may be placed.
type classCursor struct {
	class  *podClass
	nodes  []*model.NodeInfo
	placed int // members, the first ones
}

// backtrack searches for a way to place at least target members of some classes where filling found
// none: other nodes and other devices for earlier members, and another order of members where that
// matters. If it succeeds, it leaves its placements in the trial, and nothing otherwise.
func backtrack(f *filler, b *best, classes []*podClass, target int) bool {
	r := &backtracker{filler: f, best: b, target: target, skips: countMembers(classes) - target}
	ordered := false
	for _, c := range hardestFirst(classes) {
		ordered = ordered || c.fitter.DependsOnOrder()
		r.cursors = append(r.cursors, &classCursor{class: c})
	}
	for _, t := range r.cursors {
		if ordered {
			t.nodes = t.class.usableNodes()
		} else {
			t.nodes = t.class.candidates(nil).Nodes()
		}
	}
	found := false
	if ordered {
		r.failed = map[string]bool{}
		found = r.inAnyOrder()
	} else {
		found = r.inOrder(0, 0, 0)
	}
	if !found {
		return false
	}
	// The others get what is left.
	for _, t := range r.cursors {
		f.fill(t.class, t.class.members[t.placed:])
	}
	return true
}

// inOrder continues with the next member of the cursor at this index, after skipped members were
// skipped. Members of one class take nodes in rising order, from first on, because they are
// interchangeable.
func (r *backtracker) inOrder(at, first, skipped int) bool {
	if len(r.filler.trial.pods) >= r.target {
		return true
	}
	r.best.recordProgress()
	if at == len(r.cursors) {
		return false
	}
	t := r.cursors[at]
	if t.placed == len(t.class.members) {
		return r.inOrder(at+1, 0, skipped)
	}
	for n := first; n < len(t.nodes); n++ {
		if r.placeOn(t, t.nodes[n], func(alloc.Choice) bool { return r.inOrder(at, n, skipped) }) {
			return true
		}
		if r.filler.budget.exhausted {
			return false
		}
	}
	// If a member is skipped, so are all that follow in its class: they could take its place.
	if skipped += len(t.class.members) - t.placed; skipped > r.skips {
		return false
	}
	return r.inOrder(at+1, 0, skipped)
}

// inAnyOrder continues with a member of any class on any node.
func (r *backtracker) inAnyOrder() bool {
	if len(r.filler.trial.pods) >= r.target {
		return true
	}
	r.best.recordProgress()
	key := r.key()
	if r.failed[key] {
		return false
	}
	for at, t := range r.cursors {
		if t.placed == len(t.class.members) {
			continue
		}
		for n, info := range t.nodes {
			goOn := func(choice alloc.Choice) bool {
				r.here = append(r.here, fmt.Sprintf("%d on %d %s", at, n, choice.Key()))
				found := r.inAnyOrder()
				r.here = r.here[:len(r.here)-1]
				return found
			}
			if r.placeOn(t, info, goOn) {
				return true
			}
			if r.filler.budget.exhausted {
				return false
			}
		}
	}
	r.failed[key] = true
	return false
}

// key returns a string that is equal for trials with as many members of each class on each node,
// with the same devices.
func (r *backtracker) key() string {
	here := slices.Clone(r.here)
	slices.Sort(here)
	return strings.Join(here, ";")
}

// placeOn tries the next member of a class on one node, with each choice of devices.
func (r *backtracker) placeOn(t *classCursor, info *model.NodeInfo, goOn func(alloc.Choice) bool) bool {
	trial, budget := r.filler.trial, r.filler.budget
	if !budget.step() {
		return false
	}
	m := t.class.members[t.placed]
	if !trial.admits(m, info) {
		return false
	}
	try := func(choice alloc.Choice) bool {
		draws, failure := trial.draws(m, info, choice)
		if failure.Failed() {
			return false
		}
		mark := trial.mark()
		trial.assign(m, info, choice, draws)
		t.placed++
		if goOn(choice) {
			return true
		}
		t.placed--
		trial.undo(mark)
		return false
	}
	offer, reason := t.class.offer(m, info)
	if reason != nil {
		return false
	}
	if offer == nil {
		return try(nil)
	}
	if offer.Search(&budget.Budget, try) == alloc.Accepted {
		return true
	}
	budget.exhausted = budget.exhausted || budget.Spent >= budget.Limit
	return false
}
