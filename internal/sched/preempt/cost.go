package preempt

import (
	"cmp"
	"math"
	"time"
)

// evictionCost compares sets of victims.
type evictionCost struct {
	violations int
	highest    int64 // priority; math.MinInt64 without victims
	groups     int
	pods       int
	sum        int64     // sum of the pods' priorities
	started    time.Time // the first start of a victim with the highest priority
}

// unknownCost is the estimate if nothing can be counted. No cost is lower.
var unknownCost = evictionCost{highest: math.MinInt64}

// compare orders costs, the lowest first.
func (c evictionCost) compare(other evictionCost) int {
	return cmp.Or(
		cmp.Compare(c.violations, other.violations), cmp.Compare(c.highest, other.highest),
		cmp.Compare(c.groups, other.groups), cmp.Compare(c.pods, other.pods),
		cmp.Compare(c.sum, other.sum), other.started.Compare(c.started),
	)
}
