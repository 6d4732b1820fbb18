package placement

import "github.com/allot-dev/allot/internal/alloc"

// budget is the number of steps that the search for a placement may take.
type budget struct {
	alloc.Budget
	exhausted bool // a part of the search ended because of the limit
}

// note records the outcome of a search for devices.
func (b *budget) note(outcome alloc.Outcome) {
	b.exhausted = b.exhausted || outcome == alloc.OutOfBudget
}

// step takes a step, and reports whether the budget allows it.
func (b *budget) step() bool {
	if !b.Step() {
		b.exhausted = true
		return false
	}
	return true
}
