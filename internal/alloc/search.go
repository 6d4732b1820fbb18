package alloc

import (
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Choice is one way to allocate the claims of a Problem: an allocation each, in the order of the claims.
type Choice []*model.Allocation

// Key is equal for choices of the same devices.
func (c Choice) Key() string {
	var b strings.Builder
	for _, allocation := range c {
		for _, device := range allocation.Devices {
			b.WriteString(model.DeviceIDOf(device).String() + " ")
		}
		b.WriteByte(';')
	}
	return b.String()
}

// Outcome is how a search ended.
type Outcome int

// A search ends because its caller accepted a choice, because there is no other, or because the budget is spent.
const (
	Accepted Outcome = iota
	Exhausted
	OutOfBudget
)

// Search offers choices, best first, until one is accepted. Two choices that differ only in devices of which nobody
// can tell the difference are offered once. The State may be changed while accept runs, if it is as before when
// accept answers false.
func (b *Board) Search(budget *Budget, accept func(Choice) bool) Outcome {
	s := search{board: b, budget: budget, accept: accept}
	for w := range b.problem.wants {
		for range b.problem.wants[w].count {
			s.slots = append(s.slots, w)
		}
	}
	s.picks = make([]pick, len(s.slots))
	return s.place(0)
}

// First is the best choice. There is one, as the Board exists, unless the budget is spent.
func (b *Board) First(budget *Budget) (Choice, bool) {
	var first Choice
	outcome := b.Search(budget, func(c Choice) bool {
		first = c
		return true
	})
	return first, outcome == Accepted
}

// search places one device after the other: a slot is one device of one want.
type search struct {
	board  *Board
	budget *Budget
	accept func(Choice) bool
	slots  []int // wants, each as often as it wants devices
	picks  []pick
}

type pick struct {
	cell, device int
}

func (s *search) place(slot int) Outcome {
	if slot == len(s.slots) {
		if s.accept(s.board.choice(s.slots, s.picks)) {
			return Accepted
		}
		return Exhausted
	}
	w := &s.board.problem.wants[s.slots[slot]]
	f := s.board.flow
	f.need[w.selection]--
	defer func() { f.need[w.selection]++ }()
	for c := s.firstCell(slot); c < len(s.board.cells); c++ {
		cell := &s.board.cells[c]
		if cell.used == len(cell.devices) || !cell.matches.Has(w.selection) {
			continue
		}
		if !s.budget.Step() {
			return OutOfBudget
		}
		s.picks[slot] = pick{cell: c, device: cell.devices[cell.used]}
		cell.used++
		f.room[c]--
		outcome := Exhausted
		if s.bounded() {
			outcome = s.place(slot + 1)
		}
		f.room[c]++
		cell.used--
		if outcome != Exhausted {
			return outcome
		}
	}
	return Exhausted
}

// bounded says whether what is still to be placed can be, as far as counts tell. With one selection there is nothing
// to find out: the first solution on the Board holds whichever of its cells are taken.
func (s *search) bounded() bool {
	if len(s.board.problem.selections) == 1 {
		return true
	}
	fits, _ := s.board.flow.solve()
	return fits
}

// firstCell keeps the cells of slots that can be swapped in rising order.
func (s *search) firstCell(slot int) int {
	p := s.board.problem
	w := &p.wants[s.slots[slot]]
	for before := slot - 1; before >= 0; before-- {
		other := &p.wants[s.slots[before]]
		if other.selection == w.selection && (p.swappable || other.claim == w.claim) {
			return s.picks[before].cell
		}
	}
	return 0
}
