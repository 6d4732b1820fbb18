package sched

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// ranking gives candidates best first, and compares no more of them than are asked for: a gang of three among thousands
// of nodes needs a few. It is a tournament: place i is won by the better of places 2i and 2i+1, the last len(list) places are
// those of the candidates themselves, and who wins place 1 is the best.
type ranking struct {
	list    []candidate // by name
	winners []int32     // of the places below len(list)
	in      int         // candidates that are not out, those that were given counted
	given   []int32     // best first; they are out until all start again
	crowded []int32     // candidates with a crowd
	fresh   bool        // none were compared yet
	dirty   []int32     // candidates that are not what they were when they were compared
}

// size is how many candidates there are.
func (r *ranking) size() int { return r.in }

// at is the node in place i, the best being in place 0.
func (r *ranking) at(i int) *model.NodeInfo {
	for len(r.given) <= i {
		best := r.winner(1)
		r.given = append(r.given, best)
		r.list[best].out = true
		r.replay(best)
	}
	return r.list[r.given[i]].node
}

// nodes are all, best first.
func (r *ranking) nodes() []*model.NodeInfo {
	nodes := make([]*model.NodeInfo, r.size())
	for i := range nodes {
		nodes[i] = r.at(i)
	}
	return nodes
}

// reset starts with other candidates.
func (r *ranking) reset(list []candidate) {
	r.list, r.in, r.fresh = list, 0, true
	r.given, r.crowded, r.dirty = r.given[:0], r.crowded[:0], r.dirty[:0]
	for i := range list {
		if !list[i].out {
			r.in++
		}
	}
}

// find is where a node is in the list.
func (r *ranking) find(info *model.NodeInfo) (int, bool) {
	at, ok := slices.BinarySearchFunc(r.list, info.Name, func(c candidate, name string) int { return strings.Compare(c.node.Name, name) })
	return at, ok && r.list[at].node == info
}

// restart has those that were given compete again.
func (r *ranking) restart() {
	for _, n := range r.given {
		r.list[n].out = false
	}
	r.dirty = append(r.dirty, r.given...)
	r.given = r.given[:0]
}

// change says what a candidate is now, before any is asked for.
func (r *ranking) change(n int, now candidate) {
	old := &r.list[n]
	if *old == now {
		return
	}
	switch {
	case old.out && !now.out:
		r.in++
	case !old.out && now.out:
		r.in--
	}
	*old = now
	r.dirty = append(r.dirty, int32(n))
}

// The part of the candidates from which on it is cheaper to compare all.
const fewDirty = 8

// settle compares those that are not what they were.
func (r *ranking) settle() {
	if r.fresh || len(r.dirty) > len(r.list)/fewDirty {
		r.compareAll()
	} else {
		for _, n := range r.dirty {
			r.replay(n)
		}
	}
	r.dirty = r.dirty[:0]
}

func (r *ranking) compareAll() {
	n := len(r.list)
	r.winners, r.fresh = slices.Grow(r.winners[:0], n)[:n], false
	for place := n - 1; place > 0; place-- {
		r.winners[place] = r.better(r.winner(2*place), r.winner(2*place+1))
	}
}

func (r *ranking) winner(place int) int32 {
	if place < len(r.list) {
		return r.winners[place]
	}
	return int32(place - len(r.list))
}

// replay decides the places anew that a candidate can win, up to where it matters no more.
func (r *ranking) replay(n int32) {
	for place := (int(n) + len(r.list)) / 2; place > 0; place /= 2 {
		before := r.winners[place]
		now := r.better(r.winner(2*place), r.winner(2*place+1))
		if now == before && now != n {
			return
		}
		r.winners[place] = now
	}
}

// better is never undecided. It is called for each node and unit.
func (r *ranking) better(m, n int32) int32 {
	a, b := &r.list[m], &r.list[n]
	switch {
	case a.out:
		return n
	case b.out:
		return m
	}
	switch order := compareCandidates(a, b); {
	case order < 0:
		return m
	case order > 0:
		return n
	}
	return min(m, n)
}

// compareCandidates leaves it to their names who is better of two candidates that are alike.
func compareCandidates(a, b *candidate) int {
	switch {
	case a.wish != b.wish:
		return cmp.Compare(b.wish, a.wish)
	case a.devices != b.devices:
		return cmp.Compare(a.devices, b.devices)
	case a.crowd != b.crowd:
		return cmp.Compare(a.crowd, b.crowd)
	case a.load != b.load:
		return cmp.Compare(a.load, b.load)
	}
	return 0
}
