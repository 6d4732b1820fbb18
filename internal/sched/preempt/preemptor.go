package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// preemptor searches for a set of victims for one unit. Pods and claims that terminate already are
// not in the base of its trial.
type preemptor struct {
	caches  *placement.Caches
	options placement.Options // of each attempt
	trial   *trial
	unit    *model.Unit
	pool    *victimPool
	budgets *budgets
	left    int // steps of all attempts together

	capacity *podCapacity // of the last unit and nodes
}

// victimSet is a set of victims for a unit.
type victimSet struct {
	victims  []*victim // in the order in which they are evicted
	reclaims []Reclaim
	plan     *plan.Plan
	cost     evictionCost
}

// run searches for the whole unit, or for as many of its pods as possible if they are independent.
func (p *preemptor) run() *Result {
	result := &Result{Unit: p.unit.Key, Priority: p.unit.Priority, Until: p.pool.until}
	units := []*model.Unit{p.unit}
	if p.unit.Min == 1 {
		units = singlePods(p.unit)
	}
	var victims []*victim
	hopeless := map[string]bool{} // shapes
	for _, unit := range units {
		shape, plain := unit.Pods[0].Shape.ID, onlyShapeMatters(p.trial.state, unit)
		if p.left <= 0 || plain && hopeless[shape] {
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
			if pods[0] == v.pods[0] { // the first of them stands for all
				list = append(list, Victim{Whole: group, Priority: v.priority, Pods: pods})
			}
		case v.whole:
			list = append(list, Victim{Whole: group, Priority: v.priority, Pods: v.pods})
		default:
			list = append(list, Victim{Priority: v.priority, Pods: v.pods})
		}
	}
	return list
}

// The number of victim sets that are searched for, if each site has a lower estimate than the cost of
// the best set so far: a number, or a share of the sites, as for the candidates of kube-scheduler.
const (
	maxVictimSets      = 100
	maxVictimSetsShare = 10
)

// find returns the victim set with the lowest cost for a unit. The first site is the best one if its
// estimate is right.
func (p *preemptor) find(unit *model.Unit) *victimSet {
	if made := p.tryWithout(unit, nil, nil); made != nil {
		return &victimSet{plan: made}
	}
	var best *victimSet
	sets, sites := 0, p.sites(unit)
	most := max(maxVictimSets, len(sites)/maxVictimSetsShare)
	for i := range sites {
		site := &sites[i]
		if p.left <= 0 || sets == most || best != nil && best.cost.compare(site.estimate) <= 0 {
			break
		}
		set := p.findAt(unit, site)
		if set == nil {
			continue
		}
		if sets++; best == nil || set.cost.compare(best.cost) < 0 {
			best = set
		}
	}
	if best == nil && p.dependsOnOtherSites(unit) && p.left > 0 {
		return p.findAt(unit, &victimSite{here: p.pool.victims})
	}
	return best
}

// findAt searches for victims at one site.
func (p *preemptor) findAt(unit *model.Unit, site *victimSite) *victimSet {
	all := slices.Collect(site.victims)
	p.budgets.markViolations(all)
	s := &siteSearch{preemptor: p, unit: unit, nodes: site.nodes}
	if !s.takeFirst(all) && !s.addGradually(all) {
		return nil
	}
	s.reprieve()
	s.keepGangs()
	victims := withGangs(s.victims)
	again := p.tryWithout(unit, site.nodes, victims)
	if again == nil {
		return nil
	}
	return &victimSet{
		victims: victims, reclaims: slices.Clone(p.trial.reclaims), plan: again, cost: p.budgets.costOf(victims),
	}
}

// tryWithout places the unit on some nodes without these victims. It returns nil if it cannot be
// placed. The trial then is without the victims.
func (p *preemptor) tryWithout(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) *plan.Plan {
	p.trial.reset()
	if p.lacksCapacity(unit, nodes, victims) {
		return nil
	}
	p.left -= p.trial.remove(victims)
	start := p.trial.tx.Mark()
	options := p.options
	options.Only = nodes
	attempt := placement.New(p.caches, p.trial.tx, unit, options)
	made, _ := attempt.Run()
	p.trial.tx.UndoTo(start)
	p.left -= attempt.Spent() + 1
	return made
}
