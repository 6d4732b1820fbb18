package alloc

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
)

// The cost of CEL evaluation is measured in CEL cost units. The API limits one evaluation to a
// million units, which take about 0.1 s. Results are cached, so that each attempt continues where
// the previous one stopped.
const (
	// AttemptCost is the cost limit for one attempt to place a unit. The last evaluation may exceed
	// it.
	AttemptCost = 4_000_000
	// UnitCost is the cost limit for all unfinished attempts of one unit. It corresponds roughly to
	// the timeout of the DynamicResources filter in kube-scheduler.
	UnitCost = 40_000_000
)

// errCostLimit is returned for an evaluation that is skipped because of the cost limit.
var errCostLimit = errors.New("costs too much")

// costs tracks the evaluation costs of an attempt.
type costs struct {
	limit, left int64
	// first attempt of the unit: costly expressions are left to units that have already waited for
	// them
	first     bool
	exhausted bool
	used      []*program // programs evaluated in this attempt
}

// StartAttempt starts an attempt for a unit. spent is the cost of its earlier, unfinished attempts.
func (a *Allocator) StartAttempt(spent int64) {
	c := &a.matcher.costs
	if !c.exhausted {
		for _, p := range c.used {
			p.cost, p.evaluated, p.postponed = 0, 0, false
		}
	}
	*c = costs{limit: min(AttemptCost, UnitCost-spent), first: spent == 0, used: c.used[:0]}
	c.left = c.limit
}

// Unfinished reports whether the attempt skipped evaluations because of their cost, and returns the
// cost so far.
func (a *Allocator) Unfinished() (cost int64, unfinished bool) {
	c := &a.matcher.costs
	return max(1, c.limit-c.left), c.exhausted
}

// admit returns an error if the program must not be evaluated in this attempt.
func (c *costs) admit(p *program) error {
	switch {
	case c.left > 0 && !(c.first && p.postponed):
		return nil
	case c.limit <= 0:
		c.exhausted = true
		return fmt.Errorf("%w: more than the limit of %d cost units, with %s", errCostLimit, int64(UnitCost), p.costText())
	}
	c.exhausted, p.postponed = true, true
	return fmt.Errorf("%w for one attempt: %s so far, limit %d; this goes on", errCostLimit, p.costText(), int64(UnitCost))
}

// charge records the cost of an evaluation.
func (c *costs) charge(p *program, details *cel.EvalDetails) {
	cost := int64(1)
	if details != nil {
		if actual := details.ActualCost(); actual != nil {
			cost = max(1, int64(min(*actual, UnitCost)))
		}
	}
	if n := len(c.used); n == 0 || c.used[n-1] != p {
		c.used = append(c.used, p)
	}
	c.left -= cost
	p.cost += cost
	p.evaluated++
}

func (p *program) costText() string {
	return fmt.Sprintf("%d cost units over %s", p.cost, plural(p.evaluated, "device", "devices"))
}
