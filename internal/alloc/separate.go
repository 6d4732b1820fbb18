package alloc

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// separate orders the slots by what they compete for, and notes where the slots begin that compete with none before
// them. If those have no solution, others for the slots before them are of no use.
func (s *search) separate() {
	p, b := s.board.problem, s.board
	s.heads, s.before = make([]bool, len(s.slots)), make([]int, len(s.slots))
	if !p.hasAdmin && (b.counted != nil || len(p.rules) > 0) {
		s.sortByRivals()
	}
	last := map[int]int{}
	for i := range s.slots {
		before, ok := last[s.slots[i].role]
		if s.before[i] = before; !ok {
			s.before[i] = -1
		}
		last[s.slots[i].role] = i
	}
}

func (s *search) sortByRivals() {
	root := s.rivals()
	order := map[int]int{}
	for i := range s.slots {
		group := root(s.nodeOf[s.slots[i].want])
		if _, known := order[group]; !known {
			order[group] = len(order)
		}
		s.slots[i].group = order[group]
	}
	slices.SortStableFunc(s.slots, func(x, y slot) int { return x.group - y.group })
	for i := 1; i < len(s.slots); i++ {
		s.heads[i] = s.slots[i].group != s.slots[i-1].group
	}
}

// rivals joins the nodes of the flow that could have devices of one cell, of cells that take from one counter set, or
// that are under one distinctAttribute. It returns what stands for the group of a node.
func (s *search) rivals() func(node int) int {
	b, p := s.board, s.board.problem
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
		for _, role := range s.nodes[n] {
			for _, r := range p.roles[role].rules {
				if p.rules[r].distinct {
					join(n, fmt.Sprint("rule ", r))
				}
			}
		}
	}
	for c := range b.cells {
		cell := &b.cells[c]
		for _, a := range cell.need.amounts {
			join(len(s.nodes)+c, fmt.Sprint(cell.view, " ", b.counted[cell.view].set(a.counter)))
		}
		for _, need := range cell.need.groups {
			join(len(s.nodes)+c, fmt.Sprint(cell.view, " ", need.set))
		}
	}
	return root
}

// memoryAfter is how many steps a search for any solution takes before it remembers what was in vain.
const memoryAfter = 64

// remembers reports whether what is left to be placed depends on nothing but how many devices of each cell are used.
func (s *search) remembers() bool {
	p := s.board.problem
	return s.any && s.budget.Spent-s.begun >= memoryAfter && !p.hasAdmin && !s.board.shares &&
		!slices.ContainsFunc(p.rules, func(r rule) bool { return r.distinct })
}

// situation is equal where the slots from this one on have the same to choose from.
func (s *search) situation(at int) string {
	key := binary.AppendUvarint(s.key[:0], uint64(at))
	for i := at; i < len(s.slots); i++ {
		if before := s.before[i]; before >= 0 && before < at {
			key = binary.AppendUvarint(key, uint64(s.picks[before].cell))
		}
	}
	for c := range s.board.cells {
		if used := s.board.cells[c].used; used > 0 {
			key = binary.AppendUvarint(binary.AppendUvarint(key, uint64(c)), uint64(used))
		}
	}
	s.key = key
	return string(key)
}
