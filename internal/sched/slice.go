package sched

// DefaultSteps is a budget that a small machine spends in a fraction of a second.
const DefaultSteps = 50_000

// A unit that is hard to decide must not delay the others. Its attempts are slices: the first has a
// small budget. If a slice is not sufficient, the unit goes behind those whose first slice is still
// to come, and its next slice has a larger budget, up to the whole budget of the Placer. Nothing is
// kept between slices. Because the budgets grow by a factor, all attempts together cost a quarter
// more than the last one alone.

const (
	firstSlice  = 2_000 // steps
	sliceGrowth = 5
)

// sliceSteps returns the budget of a slice, which is most or less. The first slice is 0.
func sliceSteps(slice, most int) int {
	steps := firstSlice
	for ; slice > 0 && steps < most; slice-- {
		steps *= sliceGrowth
	}
	return min(steps, most)
}

// extraShare is the share of the Placer's steps that may be spent on placing more of a gang than it
// needs, in any slice: a gang that can run does not wait for another slice.
const extraShare = DefaultSteps / firstSlice
