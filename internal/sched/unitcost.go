package sched

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// unitCosts are the costs of the expressions of units in attempts that could not evaluate all of
// them.
type unitCosts map[model.UnitKey]unitCost

type unitCost struct {
	first types.UID // of the unit's pods: other pods with the same names are a different unit
	cost  int64
}

// maxUnitCosts is how many units are remembered. If there are more, all are forgotten.
const maxUnitCosts = 10_000

// counted makes one attempt to place a unit, and records the cost of its expressions.
func (p *Placer) counted(unit *model.Unit, place func() (*plan.Plan, *Reasons)) (*plan.Plan, *Reasons) {
	p.alloc.StartAttempt(p.costs.of(unit))
	plan, reasons := place()
	if cost, unfinished := p.alloc.Unfinished(); unfinished && plan == nil && reasons != nil {
		reasons.Costly = p.costs.of(unit) < alloc.UnitCost
		p.costs.add(unit, cost)
	} else {
		p.costs.forget(unit)
	}
	return plan, reasons
}

func (c unitCosts) of(unit *model.Unit) int64 {
	if known := c[unit.Key]; known.first == firstUID(unit) {
		return known.cost
	}
	return 0
}

func (c unitCosts) add(unit *model.Unit, cost int64) {
	if len(c) >= maxUnitCosts {
		clear(c)
	}
	c[unit.Key] = unitCost{first: firstUID(unit), cost: c.of(unit) + cost}
}

func (c unitCosts) forget(unit *model.Unit) { delete(c, unit.Key) }

func firstUID(unit *model.Unit) types.UID {
	if len(unit.Pods) == 0 {
		return ""
	}
	return unit.Pods[0].UID
}
