package preempt

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/tree"
)

// preemptor searches for a set of victims for one unit. Pods and claims that terminate already are
// not in the base of its trial.
type preemptor struct {
	caches    *placement.Caches
	options   placement.Options // options of each attempt
	trial     *trial
	unit      *model.Unit
	allowed   []*model.NodeInfo // nodes in the domains of the other pods of the unit's tree; nil means all
	pool      *victimPool
	budgets   *budgets
	stepsLeft int // steps of all attempts together

	capacity *podCapacity // capacity for the last unit and nodes
}

// tryWithout places the unit on some nodes without these victims. It returns nil if it cannot be
// placed. The trial then is without the victims.
func (p *preemptor) tryWithout(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) *plan.Plan {
	p.trial.reset()
	if p.lacksCapacity(unit, nodes, victims) {
		return nil
	}
	p.stepsLeft -= p.trial.remove(victims)
	start := p.trial.tx.Mark()
	made, spent := p.place(unit, tree.Common(p.allowed, nodes))
	p.trial.tx.UndoTo(start)
	p.stepsLeft -= spent + 1
	return made
}

// place places the unit on some nodes, nil for all. It returns the steps that were spent.
func (p *preemptor) place(unit *model.Unit, nodes []*model.NodeInfo) (made *plan.Plan, spent int) {
	options := p.options
	options.Only = nodes
	if unit.Tree != nil {
		attempt := tree.New(p.caches, p.trial.tx, p.trial.state, unit, options)
		made, _ = attempt.Run()
		return made, attempt.Spent()
	}
	attempt := placement.New(p.caches, p.trial.tx, unit, options)
	made, _ = attempt.Run()
	return made, attempt.Spent()
}

// lacksCapacity reports, without an attempt, whether the unit cannot be placed without these
// victims. The trial is at its base.
func (p *preemptor) lacksCapacity(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) bool {
	// What devices provide of a node's resources is counted by claims, not by pods.
	if len(unit.Pods) == 1 || p.trial.state.Devices.HasDraws() {
		return false
	}
	if !p.capacity.isOf(p.trial, unit, nodes) {
		p.capacity = newPodCapacity(p.trial, unit, nodes)
		p.stepsLeft -= p.capacity.examined / victimsPerStep
	}
	p.stepsLeft -= 1 + len(victims)/victimsPerStep
	return p.capacity.isInsufficient(withGangs(victims))
}
