package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// run searches for the whole unit, or for as many of its pods as possible if they are independent.
func (p *preemptor) run() *Result {
	result := &Result{Unit: p.unit.Key, Priority: p.unit.Priority, Until: p.pool.until}
	units := []*model.Unit{p.unit}
	if p.unit.Min == 1 && p.unit.Tree == nil {
		units = singlePods(p.unit)
	}
	var victims []*victim
	hopeless := map[string]bool{} // shapes
	for _, unit := range units {
		shape, plain := unit.Pods[0].Shape.ID, onlyShapeMatters(p.trial.state, unit)
		if p.stepsLeft <= 0 || plain && hopeless[shape] {
			continue
		}
		found := p.find(unit)
		if found == nil {
			hopeless[shape] = plain
			continue
		}
		victims = append(victims, found.victims...)
		result.Reclaims = append(result.Reclaims, found.reclaims...)
		result.Plan = result.Plan.Merge(found.plan)
		p.settle(found)
	}
	if result.Plan == nil {
		return nil
	}
	result.Violations = p.budgets.violations(victims)
	result.Victims = evictions(p.trial.state, victims)
	return result
}

// singlePods returns units of one pod each.
func singlePods(unit *model.Unit) []*model.Unit {
	units := make([]*model.Unit, len(unit.Pods))
	for i, pod := range unit.Pods {
		one := *unit
		one.Pods = []*model.Pod{pod}
		units[i] = &one
	}
	return units
}

// settle keeps what was found in the base of the trial, for the pods that follow.
func (p *preemptor) settle(found *victimSet) {
	p.trial.reset()
	p.trial.remove(found.victims)
	found.plan.Assume(p.trial.state)
	p.trial.setBase()
	for _, v := range found.victims {
		if g := v.gang; g != nil {
			g.surplus--
			g.victims = slices.DeleteFunc(g.victims, func(other *victim) bool { return other == v })
		}
	}
	p.pool.victims = slices.DeleteFunc(p.pool.victims, func(v *victim) bool { return slices.Contains(found.victims, v) })
}

// evictions returns the victims with pods to evict. The single pods of a gang are one victim if all
// of them are evicted.
func evictions(state *model.State, victims []*victim) []Victim {
	var list []Victim
	gangs := map[*gang][]*model.Pod{} // their evicted pods
	for _, v := range victims {
		if v.gang != nil {
			gangs[v.gang] = append(gangs[v.gang], v.pods...)
		}
	}
	for _, v := range victims {
		group, _ := state.Groups.Get(v.group)
		switch pods := gangs[v.gang]; {
		case v.holdsOnlyDevices():
		case v.gang != nil && len(pods) == v.gang.size:
			if pods[0] == v.pods[0] { // the first of them represents all
				list = append(list, Victim{Whole: group, Priority: v.priority, Pods: pods})
			}
		case v.tree != nil:
			list = append(list, Victim{Tree: v.tree, Priority: v.priority, Pods: v.pods})
		case v.wholeGroup:
			list = append(list, Victim{Whole: group, Priority: v.priority, Pods: v.pods})
		default:
			list = append(list, Victim{Priority: v.priority, Pods: v.pods})
		}
	}
	return list
}
