package alloc

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// orderByCompetition groups slots that compete for devices, and marks each slot that competes with
// no slot before it. If no assignment exists from such a slot on, then trying other devices for
// earlier slots is useless.
func (s *search) orderByCompetition() {
	p, b := s.offer.problem, s.offer
	s.independent, s.previous = make([]bool, len(s.slots)), make([]int, len(s.slots))
	if !p.hasAdminAccess && (b.counters != nil || len(p.constraints) > 0) {
		s.sortByCompetition()
	}
	last := map[int]int{}
	for i := range s.slots {
		before, ok := last[s.slots[i].eligibility]
		if s.previous[i] = before; !ok {
			s.previous[i] = -1
		}
		last[s.slots[i].eligibility] = i
	}
}

func (s *search) sortByCompetition() {
	root := s.competitionGroups()
	order := map[int]int{}
	for i := range s.slots {
		group := root(s.nodeOf[s.slots[i].request])
		if _, known := order[group]; !known {
			order[group] = len(order)
		}
		s.slots[i].group = order[group]
	}
	slices.SortStableFunc(s.slots, func(x, y slot) int { return x.group - y.group })
	for i := 1; i < len(s.slots); i++ {
		s.independent[i] = s.slots[i].group != s.slots[i-1].group
	}
}

// competitionGroups joins flow nodes that could get devices of one cell, of cells that take from
// one counter set, or that are covered by one distinctAttribute. The result maps a node to the
// representative of its group.
func (s *search) competitionGroups() func(node int) int {
	b, p := s.offer, s.offer.problem
	parent := make([]int, len(s.nodes)+len(b.cells))
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	first := map[string]int{}
	join := func(i int, what string) {
		if other, known := first[what]; known {
			parent[root(i)] = root(other)
		} else {
			first[what] = i
		}
	}
	for n := range s.nodes {
		for _, c := range s.flow.edges[n] {
			parent[root(n)] = root(len(s.nodes) + c)
		}
		for _, eligibility := range s.nodes[n] {
			for _, r := range p.eligibilities[eligibility].constraints {
				if p.constraints[r].distinct {
					join(n, fmt.Sprint("rule ", r))
				}
			}
		}
	}
	for c := range b.cells {
		cell := &b.cells[c]
		for _, a := range cell.usage.amounts {
			join(len(s.nodes)+c, fmt.Sprint(cell.view, " ", b.counters[cell.view].setOf(a.counter)))
		}
		for _, need := range cell.usage.groups {
			join(len(s.nodes)+c, fmt.Sprint(cell.view, " ", need.set))
		}
	}
	return root
}

// memoizeAfter is the number of steps after which a search for any solution remembers dead ends.
const memoizeAfter = 64

// canMemoize reports whether the remaining assignments depend only on the number of devices used of
// each cell.
func (s *search) canMemoize() bool {
	p := s.offer.problem
	return s.anySolution && s.budget.Spent-s.slotsStart >= memoizeAfter && !p.hasAdminAccess && !s.offer.hasShared &&
		!slices.ContainsFunc(p.constraints, func(r constraint) bool { return r.distinct })
}

// stateKey returns a string that is equal for states in which the slots from at on have the same
// choices.
func (s *search) stateKey(at int) string {
	key := binary.AppendUvarint(s.keyBuffer[:0], uint64(at))
	for i := at; i < len(s.slots); i++ {
		if before := s.previous[i]; before >= 0 && before < at {
			key = binary.AppendUvarint(key, uint64(s.assignments[before].cell))
		}
	}
	for c := range s.offer.cells {
		if used := s.offer.cells[c].used; used > 0 {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(c)), uint64(used))
		}
	}
	s.keyBuffer = key
	return string(key)
}
