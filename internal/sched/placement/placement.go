package placement

import (
	"fmt"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/reason"
	"github.com/allot-dev/allot/internal/sched/score"
)

// Placement is one attempt to place a unit.
type Placement struct {
	options Options
	input   input
	trial   trial
	search  search
	reasons *reason.Reasons
}

// New returns a Placement within a transaction. Nothing is read before Run.
func New(caches *Caches, tx *model.Tx, unit *model.Unit, options Options) *Placement {
	p := &Placement{
		options: options,
		input:   input{scope: newScope(caches, unit, options)},
		trial:   trial{state: caches.state, tx: tx, unit: unit},
		reasons: &reason.Reasons{
			Unit: unit.Key, Min: unit.Min, Attempt: reason.Attempt{Limit: options.Steps},
		},
	}
	p.search = search{
		input: &p.input, trial: &p.trial, topology: &p.reasons.Topology, extraSteps: options.ExtraSteps,
		budget: budget{Budget: alloc.Budget{Limit: options.Steps}},
		best:   best{input: &p.input, trial: &p.trial, quiet: options.Quiet},
	}
	p.search.filler = filler{input: &p.input, trial: &p.trial, budget: &p.search.budget}
	return p
}

// Searched returns how many steps were spent beyond those that placing the unit at the first try
// costs.
func (p *Placement) Searched() int { return max(0, p.search.budget.Spent-p.search.greedyCost) }

// Spent returns how many steps were spent.
func (p *Placement) Spent() int { return p.search.budget.Spent }

// Run returns a Plan for at least Min of the unit's pods, Reasons why there is none, or both if
// some pods are not in the plan. The State is then as before.
func (p *Placement) Run() (*plan.Plan, *reason.Reasons) {
	unit := p.input.unit
	if waitsForGroup(p.input.state, unit, p.reasons) {
		return nil, p.reasons
	}
	gatherer := &gatherer{input: &p.input, reasons: p.reasons}
	if gatherer.gather(); len(p.input.members) < unit.Min {
		p.reasons.Code = reason.Waiting
		return nil, p.reasons
	}
	if gatherer.prepare(p.trial.isAllocatedHere); len(p.input.members) < unit.Min || !p.fixDomain() {
		p.reasons.Code = reason.Unschedulable
		return nil, p.reasons
	}
	start := p.trial.mark()
	p.search.run()
	p.trial.undo(start)
	return p.result()
}

// Rank returns the best feasible nodes for the first of the unit's pods, at most n, with their
// scores. It places nothing, and does not heed a topology constraint of the group.
func (p *Placement) Rank(n int) []score.NodeScores {
	gatherer := &gatherer{input: &p.input, reasons: p.reasons}
	gatherer.gather()
	gatherer.prepare(p.trial.isAllocatedHere)
	if len(p.input.classes) == 0 {
		return nil
	}
	class := p.input.classes[0]
	in, e := class.rankingInput(nil)
	return in.Breakdown(class.scope.ranks.Rank(in, class.usableNodes(), e), n)
}

// fixDomain finds the domain of the group's bound pods, if the group has to be in one domain. It
// reports whether the group can be tried.
func (p *Placement) fixDomain() bool {
	key := p.input.topologyKey()
	if key == "" {
		return true
	}
	p.reasons.Topology.Label = key
	p.reasons.Further = []model.Topic{{Kind: model.TopicNodes}} // the label of a node may change
	return fixDomain(p.input.state, p.input.unit, &p.reasons.Topology)
}

// result returns the result after everything was tried.
func (p *Placement) result() (*plan.Plan, *reason.Reasons) {
	r, made, failure := p.reasons, p.search.best.plan, p.search.best.failure
	if made != nil {
		made.Whole = len(made.Pods) == len(p.input.unit.Pods)
		if failure == nil && len(r.Pods) == 0 {
			return made, nil
		}
	}
	if p.options.Quiet {
		return made, r
	}
	r.Priority = lowerGroupPriority(p.input.unit)
	p.input.setWakes(&r.Wakes)
	if failure != nil {
		r.Placed, r.Constraints = failure.Placed, failure.Constraints
		r.Pods = append(r.Pods, failure.Pods...)
	}
	switch {
	case made != nil:
		r.Code = reason.LeftOver
	case p.search.isUndecided():
		r.Code, r.Steps = reason.Undecided, p.search.budget.Spent
		r.Unfinished = p.options.Steps < p.options.MaxSteps
	default:
		r.Code = reason.Unschedulable
	}
	return made, r
}

// lowerGroupPriority returns a hint for the author of a pod whose priority is higher than that of
// its group, which counts, or "".
func lowerGroupPriority(unit *model.Unit) string {
	if unit.Group == nil || unit.Group.Priority == nil {
		return ""
	}
	for _, pod := range unit.Pods {
		if pod.Priority > *unit.Group.Priority {
			return fmt.Sprintf("pod %s counts with the priority %d of PodGroup %s, not with its own priority %d",
				pod.Key.Name, *unit.Group.Priority, unit.Group.Key.Name, pod.Priority)
		}
	}
	return ""
}
