package placement

import (
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// best is the best result of all attempts so far.
type best struct {
	input *input
	trial *trial
	quiet bool // reasons are not needed

	plan    *plan.Plan // plan of at least Min members, or nil
	placed  int        // members of the plan
	reached int        // the most that any attempt placed, or could place by counting, since this was set to 0
	// failure has the reasons why the attempt that placed the most members did not place all. It is
	// nil if there was no attempt, or if all are placed.
	failure *reason.Reasons
}

// isComplete reports whether all members are placed.
func (b *best) isComplete() bool { return b.placed == len(b.input.members) }

// target returns the smallest number of members that would be a better result.
func (b *best) target() int { return max(b.input.unit.Min, b.placed+1) }

// record keeps what the trial has placed if it is better, and explains why it has not placed all.
func (b *best) record() {
	placed := len(b.trial.pods)
	b.reached = max(b.reached, placed)
	if placed >= b.input.unit.Min && placed > b.placed {
		b.plan, b.placed = b.trial.plan(), placed
	}
	b.recordFailure()
}

// recordProgress records how many members a search has placed that has not placed enough yet.
func (b *best) recordProgress() {
	placed := len(b.trial.pods)
	b.reached = max(b.reached, placed)
	if b.failure != nil && placed > b.failure.Placed {
		b.recordFailure()
	}
}

// recordFailure explains why the trial has not placed all members, if it has placed more than any
// before it.
func (b *best) recordFailure() {
	placed := len(b.trial.pods)
	switch {
	case placed == len(b.input.members):
		b.failure = nil
	case b.failure != nil && b.failure.Placed >= placed:
	case b.quiet:
		b.failure = &reason.Reasons{Placed: placed}
	default:
		b.failure = (&explainer{trial: b.trial, input: b.input}).explain()
	}
}
