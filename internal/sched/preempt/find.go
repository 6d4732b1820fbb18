package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// victimSet is a set of victims for a unit.
type victimSet struct {
	victims  []*victim // victims in the order in which they are evicted
	reclaims []Reclaim
	plan     *plan.Plan
	cost     evictionCost
}

// The number of victim sets that are searched for, if each site has a lower estimate than the cost
// of the best set so far: a number, or a share of the sites, as for the candidates of
// kube-scheduler.
const (
	maxVictimSets      = 100
	maxVictimSetsShare = 10
)

// find returns the victim set with the lowest cost for a unit. The first site is the best one if
// its estimate is right.
func (p *preemptor) find(unit *model.Unit) *victimSet {
	if made := p.tryWithout(unit, nil, nil); made != nil {
		return &victimSet{plan: made}
	}
	var best *victimSet
	sets, sites := 0, p.sites(unit)
	most := max(maxVictimSets, len(sites)/maxVictimSetsShare)
	for i := range sites {
		site := &sites[i]
		if p.stepsLeft <= 0 || sets == most || best != nil && best.cost.compare(site.estimate) <= 0 {
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
	if best == nil && p.dependsOnOtherSites(unit) && p.stepsLeft > 0 {
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
