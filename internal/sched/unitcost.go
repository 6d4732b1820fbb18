package sched

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
)

// unitCosts are the costs of the expressions of units in attempts that could not evaluate all of
// them.
type unitCosts map[model.UnitKey]unitCost

type unitCost struct {
	first types.UID // UID of the first pod: other pods with the same names are a different unit
	cost  int64
}

// maxUnitCosts is how many units are remembered. If there are more, all are forgotten.
const maxUnitCosts = 10_000

// cost returns the cost of a unit so far.
func (c unitCosts) cost(unit *model.Unit) int64 {
	if known := c[unit.Key]; known.first == firstUID(unit) {
		return known.cost
	}
	return 0
}

// add adds to the cost of a unit.
func (c unitCosts) add(unit *model.Unit, cost int64) {
	if len(c) >= maxUnitCosts {
		clear(c)
	}
	c[unit.Key] = unitCost{first: firstUID(unit), cost: c.cost(unit) + cost}
}

func (c unitCosts) forget(unit *model.Unit) { delete(c, unit.Key) }

// firstUID returns the UID of the unit's first pod, or "".
func firstUID(unit *model.Unit) types.UID {
	if len(unit.Pods) == 0 {
		return ""
	}
	return unit.Pods[0].UID
}
