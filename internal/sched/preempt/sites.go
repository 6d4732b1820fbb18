package preempt

import (
	"cmp"
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
)

// sites returns the sites for a unit, the most promising first: for one pod single nodes, for a
// group that must be in one domain single domains, and otherwise all nodes.
func (p *preemptor) sites(unit *model.Unit) []victimSite {
	key := unit.Topology()
	switch {
	case len(unit.Pods) == 1:
		return p.nodeSites(unit)
	case key != "":
		return p.domainSites(unit, key)
	}
	return []victimSite{{here: p.pool.victims, estimate: unknownCost}}
}

// dependsOnOtherSites reports whether victims at other sites can prevent the placement of the unit
// other than by holding devices.
func (p *preemptor) dependsOnOtherSites(unit *model.Unit) bool {
	if len(unit.Pods) > 1 {
		return unit.Topology() != ""
	}
	state, pod := p.trial.state, unit.Pods[0]
	return state.Terms.Any() || len(pod.Mounts) > 0 || placement.UsesClaims(state, pod)
}

// nodeSites returns the suitable nodes with enough victims.
func (p *preemptor) nodeSites(unit *model.Unit) []victimSite {
	on, anywhere := p.victimsByNode()
	e := newEstimator(p, unit)
	var sites []victimSite
	for i := range e.nodes {
		info := e.nodes[i].info
		site := victimSite{nodes: []*model.NodeInfo{info}, here: on[info.Name], elsewhere: anywhere}
		if len(site.here)+len(anywhere) == 0 {
			continue
		}
		if e.estimate(&site) {
			sites = append(sites, site)
		}
	}
	slices.SortStableFunc(sites, func(a, b victimSite) int { return a.estimate.compare(b.estimate) })
	return sites
}

// victimsByNode returns the victims by node. Those with devices that are not tied to a node are
// returned for all nodes.
func (p *preemptor) victimsByNode() (on map[string][]*victim, anywhere []*victim) {
	on = map[string][]*victim{}
	p.stepsLeft -= len(p.pool.victims)
	for _, v := range p.pool.victims {
		if v.fabric || v.holdsOnlyDevices() {
			anywhere = append(anywhere, v)
		}
		seen := map[string]bool{}
		for _, pod := range v.pods {
			if !seen[pod.Node] {
				seen[pod.Node] = true
				on[pod.Node] = append(on[pod.Node], v)
			}
		}
	}
	return on, anywhere
}

// domainSites returns the domains of a node label.
func (p *preemptor) domainSites(unit *model.Unit, key string) []victimSite {
	sites := p.victimsByDomain(key)
	// What devices provide of a node's resources is counted by claims, not by pods.
	if !p.trial.state.Devices.HasDraws() {
		e := newEstimator(p, unit)
		sites = slices.DeleteFunc(sites, func(s victimSite) bool { return !e.estimate(&s) })
	}
	// Of sites with equal estimates, the one with the fewest victims comes first, if it can be
	// large enough at all.
	missing := func(s *victimSite) int { return max(0, len(unit.Pods)-len(s.here)-len(s.elsewhere)) }
	slices.SortStableFunc(sites, func(a, b victimSite) int {
		return cmp.Or(a.estimate.compare(b.estimate), cmp.Compare(missing(&a), missing(&b)))
	})
	return sites
}

// victimsByDomain returns the domains of a node label with the victims there.
func (p *preemptor) victimsByDomain(key string) []victimSite {
	on, anywhere := p.victimsByNode()
	known := map[string]int{}
	var sites []victimSite
	for _, info := range p.trial.state.Nodes.List() {
		value, ok := info.Node.Labels[key]
		if !ok {
			continue
		}
		at, ok := known[value]
		if !ok {
			at = len(sites)
			known[value] = at
			sites = append(sites, victimSite{elsewhere: anywhere, estimate: unknownCost})
		}
		sites[at].nodes = append(sites[at].nodes, info)
		sites[at].here = append(sites[at].here, on[info.Name]...)
	}
	for i := range sites {
		slices.SortFunc(sites[i].here, func(a, b *victim) int { return cmp.Compare(a.rank, b.rank) })
		sites[i].here = slices.Compact(sites[i].here)
	}
	return sites
}
