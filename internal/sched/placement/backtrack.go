package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// backtracker is a depth-first search over the members, the nodes of each, and the devices on each
// node.
type backtracker struct {
	filler   *filler
	best     *best
	target   int // members to place
	skips    int // how many members may be skipped
	cursors  []*classCursor
	deadEnds *deadEnds
}

// classCursor is a class with the nodes on which its members may be placed.
type classCursor struct {
	class  *podClass
	nodes  []*model.NodeInfo
	placed int // members, the first ones
	usage  int // index of the first cursor whose pods take the same from a node
}

// backtrack searches for a way to place at least target members of some classes where filling found
// none: other nodes and other devices for earlier members, and another order of members where that
// matters. If it succeeds, it leaves its placements in the trial, and nothing otherwise.
func backtrack(f *filler, b *best, classes []*podClass, target int) bool {
	r := &backtracker{
		filler: f, best: b, target: target, skips: countMembers(classes) - target, deadEnds: newDeadEnds(),
	}
	ordered := false
	for _, c := range hardestFirst(classes) {
		ordered = ordered || c.fitter.DependsOnOrder()
		t := &classCursor{class: c}
		r.cursors = append(r.cursors, t)
		t.usage = slices.IndexFunc(r.cursors, func(like *classCursor) bool { return like == t || takesLike(like.class, c) })
	}
	for _, t := range r.cursors {
		if ordered {
			t.nodes = t.class.usableNodes()
		} else {
			t.nodes = t.class.candidates(nil).Nodes()
		}
	}
	var found bool
	if ordered {
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
func (b *backtracker) inOrder(at, first, skipped int) bool {
	if len(b.filler.trial.pods) >= b.target {
		return true
	}
	b.best.recordProgress()
	if at == len(b.cursors) {
		return false
	}
	t := b.cursors[at]
	if t.placed == len(t.class.members) {
		return b.inOrder(at+1, 0, skipped)
	}
	key := b.deadEnds.key(at, t.placed, first, skipped)
	if b.deadEnds.known[key] {
		return false
	}
	for n := first; n < len(t.nodes); n++ {
		if b.placeOn(t, t.nodes[n], func() bool { return b.inOrder(at, n, skipped) }) {
			return true
		}
		if b.filler.budget.exhausted {
			return false
		}
	}
	// If a member is skipped, so are all that follow in its class: they could take its place.
	skipped += len(t.class.members) - t.placed
	if skipped <= b.skips && b.inOrder(at+1, 0, skipped) {
		return true
	}
	b.deadEnds.known[key] = !b.filler.budget.exhausted
	return false
}

// inAnyOrder continues with a member of any class on any node.
func (b *backtracker) inAnyOrder() bool {
	if len(b.filler.trial.pods) >= b.target {
		return true
	}
	b.best.recordProgress()
	position := make([]int, len(b.cursors))
	for i, t := range b.cursors {
		position[i] = t.placed
	}
	key := b.deadEnds.key(position...)
	if b.deadEnds.known[key] {
		return false
	}
	for _, t := range b.cursors {
		if t.placed == len(t.class.members) {
			continue
		}
		for _, info := range t.nodes {
			if b.placeOn(t, info, b.inAnyOrder) {
				return true
			}
			if b.filler.budget.exhausted {
				return false
			}
		}
	}
	b.deadEnds.known[key] = true
	return false
}

// placeOn tries the next member of a class on one node, with each choice of devices.
func (b *backtracker) placeOn(t *classCursor, info *model.NodeInfo, goOn func() bool) bool {
	trial, budget := b.filler.trial, b.filler.budget
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
		before := b.deadEnds.take(t, info.Name, choice)
		t.placed++
		if goOn() {
			return true
		}
		t.placed--
		b.deadEnds.taken = before
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
