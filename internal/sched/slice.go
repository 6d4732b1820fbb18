package sched

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// A unit that is hard to decide must not delay the others. Its attempts are slices: the first has a
// small budget. If a slice is not sufficient, the unit goes behind those whose first slice is still
// to come, and its next slice has a larger budget, up to the whole budget of the Placer. Nothing is
// kept between slices. Because the budgets grow by a factor, all attempts together cost a quarter
// more than the last one alone.

const (
	firstSlice  = 2_000 // steps
	sliceGrowth = 5
)

// sliceSteps returns the budget of a slice. The first slice is 0.
func (p *Placer) sliceSteps(slice int) int {
	steps := firstSlice
	for ; slice > 0 && steps < p.steps; slice-- {
		steps *= sliceGrowth
	}
	return min(steps, p.steps)
}

// PlaceSlice is Place with the budget of one slice. If that was not sufficient, there is no Plan
// and the Reasons are Unfinished: the unit needs another slice, and nothing is known that could be
// reported.
func (p *Placer) PlaceSlice(unit *model.Unit, slice int) (*plan.Plan, *Reasons) {
	tx := p.state.Begin()
	defer tx.Undo()
	return p.counted(unit, func() (*plan.Plan, *Reasons) { return p.placeIn(tx, unit, p.sliceSteps(slice)) })
}
