package score

import (
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Ranking returns candidates best first, and compares no more of them than are used: a gang of
// three among thousands of nodes needs a few. It is a tournament: slot i is won by the better of
// slots 2i and 2i+1, the last len(list) slots are those of the candidates themselves, and the
// winner of slot 1 is the best.
type Ranking struct {
	list      []Candidate // by name
	winners   []int32     // winners of the slots below len(list)
	size      int         // candidates that are not excluded, including those that were returned
	returned  []int32     // best first; they are excluded until the next restart
	penalized []int32     // candidates with siblings
	fresh     bool        // none were compared yet
	dirty     []int32     // candidates that have changed since they were compared
}

// Len returns the number of candidates.
func (r *Ranking) Len() int { return r.size }

// At returns the node in place i; the best one is in place 0.
func (r *Ranking) At(i int) *model.NodeInfo {
	for len(r.returned) <= i {
		best := r.winner(1)
		r.returned = append(r.returned, best)
		r.list[best].Excluded = true
		r.replay(best)
	}
	return r.list[r.returned[i]].Node
}

// Nodes returns all nodes, best first.
func (r *Ranking) Nodes() []*model.NodeInfo {
	nodes := make([]*model.NodeInfo, r.Len())
	for i := range nodes {
		nodes[i] = r.At(i)
	}
	return nodes
}

// reset starts again with other candidates.
func (r *Ranking) reset(list []Candidate) {
	r.list, r.size, r.fresh = list, 0, true
	r.returned, r.penalized, r.dirty = r.returned[:0], r.penalized[:0], r.dirty[:0]
	for i := range list {
		if !list[i].Excluded {
			r.size++
		}
	}
}

// find returns the index of a node in the list.
func (r *Ranking) find(info *model.NodeInfo) (int, bool) {
	at, ok := slices.BinarySearchFunc(r.list, info.Name, func(c Candidate, name string) int {
		return strings.Compare(c.Node.Name, name)
	})
	return at, ok && r.list[at].Node == info
}

// restart makes the candidates that were returned compete again.
func (r *Ranking) restart() {
	for _, n := range r.returned {
		r.list[n].Excluded = false
	}
	r.dirty = append(r.dirty, r.returned...)
	r.returned = r.returned[:0]
}

// change replaces a candidate. It must not be called between At and restart.
func (r *Ranking) change(n int, now Candidate) {
	old := &r.list[n]
	if *old == now {
		return
	}
	switch {
	case old.Excluded && !now.Excluded:
		r.size++
	case !old.Excluded && now.Excluded:
		r.size--
	}
	*old = now
	r.dirty = append(r.dirty, int32(n))
}

// fewDirty is the share of the candidates, as a divisor, from which on it is cheaper to compare
// all.
const fewDirty = 8

// settle compares the candidates that have changed.
func (r *Ranking) settle() {
	if r.fresh || len(r.dirty) > len(r.list)/fewDirty {
		r.compareAll()
	} else {
		for _, n := range r.dirty {
			r.replay(n)
		}
	}
	r.dirty = r.dirty[:0]
}

func (r *Ranking) compareAll() {
	n := len(r.list)
	r.winners, r.fresh = slices.Grow(r.winners[:0], n)[:n], false
	for slot := n - 1; slot > 0; slot-- {
		r.winners[slot] = r.better(r.winner(2*slot), r.winner(2*slot+1))
	}
}

func (r *Ranking) winner(slot int) int32 {
	if slot < len(r.list) {
		return r.winners[slot]
	}
	return int32(slot - len(r.list))
}

// replay decides again the slots that a candidate can win, up to where its change makes no
// difference.
func (r *Ranking) replay(n int32) {
	for slot := (int(n) + len(r.list)) / 2; slot > 0; slot /= 2 {
		before := r.winners[slot]
		now := r.better(r.winner(2*slot), r.winner(2*slot+1))
		if now == before && now != n {
			return
		}
		r.winners[slot] = now
	}
}

// better returns the index of the better candidate. Ties go to the lower index. Hot path.
func (r *Ranking) better(m, n int32) int32 {
	a, b := &r.list[m], &r.list[n]
	switch {
	case a.Excluded:
		return n
	case b.Excluded:
		return m
	}
	switch order := a.compare(b); {
	case order < 0:
		return m
	case order > 0:
		return n
	}
	return min(m, n)
}
