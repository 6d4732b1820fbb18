package alloc

import (
	"errors"
	"fmt"

	"github.com/google/cel-go/cel"
)

// The cost of evaluating CEL is counted in CEL's own units. One evaluation costs at most a million, by the limit of the API; a
// million takes about a tenth of a second. What was evaluated is remembered, so that an attempt goes on where the one before it
// stopped.
const (
	// AttemptCost is what evaluations may cost in one attempt to place a unit. The last one may go beyond it.
	AttemptCost = 4_000_000
	// UnitCost is what they may cost in all attempts of one unit that end this way. It takes about as long as the time after
	// which kube-scheduler gives up on a node.
	UnitCost = 40_000_000
)

// errUnfinished says that there are no cost units left for an evaluation.
var errUnfinished = errors.New("costs too much")

// costs are the costs of an attempt.
type costs struct {
	limit, left int64
	first       bool // attempt of its unit: it leaves costly expressions to units that have waited for them
	exhausted   bool
	used        []*program // in the attempt
}

// Attempt begins an attempt of a unit whose earlier attempts have cost so much without coming to an end.
func (a *Allocator) Attempt(spent int64) {
	c := &a.matcher.costs
	if !c.exhausted {
		for _, p := range c.used {
			p.cost, p.evaluated, p.costly = 0, 0, false
		}
	}
	*c = costs{limit: min(AttemptCost, UnitCost-spent), first: spent == 0, used: c.used[:0]}
	c.left = c.limit
}

// Unfinished reports whether the attempt has left expressions unevaluated because of their cost, and what it has cost.
func (a *Allocator) Unfinished() (cost int64, unfinished bool) {
	c := &a.matcher.costs
	return max(1, c.limit-c.left), c.exhausted
}

// admit returns an error if the program must not be evaluated in this attempt.
func (c *costs) admit(p *program) error {
	switch {
	case c.left > 0 && !(c.first && p.costly):
		return nil
	case c.limit <= 0:
		c.exhausted = true
		return fmt.Errorf("%w: more than the limit of %d cost units, with %s", errUnfinished, int64(UnitCost), p.costText())
	}
	c.exhausted, p.costly = true, true
	return fmt.Errorf("%w for one attempt: %s so far, limit %d; this goes on", errUnfinished, p.costText(), int64(UnitCost))
}

// charge notes what an evaluation has cost.
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
