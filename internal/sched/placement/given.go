package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// given is what a placement starts from: the unit, its pods by class, and the claims that they share.
// Only the topology pins of pod classes change during a search.
type given struct {
	*Caches
	unit *model.Unit
	only []*model.NodeInfo // restricts the placement to these nodes; nil means all

	members []*podCandidate // the pods that can be tried
	classes []*podClass
	shared  []*sharedClaims
	// offerBudget is what it may cost in steps to find out whether nodes offer enough devices.
	offerBudget *alloc.Budget
}

func newGiven(caches *Caches, unit *model.Unit, options Options) given {
	return given{
		Caches: caches, unit: unit, only: options.Only, offerBudget: &alloc.Budget{Limit: options.Steps},
	}
}

// prefersPacking reports whether the unit's pods are placed close together, not spread.
func (g *given) prefersPacking() bool { return g.unit.Min > 1 }

// topologyKey returns the node label by which the group's pods must be in one domain, or "".
func (g *given) topologyKey() string {
	if g.unit.Group == nil {
		return ""
	}
	return g.unit.Group.Topology
}

// greedyCost returns what it costs in steps to place everything at the first try. It is not taken
// from the budget.
func (g *given) greedyCost() int {
	steps := len(g.members)
	for _, c := range g.classes {
		most := 0
		for _, f := range c.forms() {
			if f.problem != nil {
				most = max(most, f.problem.MaxDevices())
			}
		}
		steps += len(c.members) * most
	}
	for _, s := range g.shared {
		steps += s.problem.MaxDevices()
	}
	return steps
}

// lacksDevices reports whether there are too few free devices for Min members even if all nodes had
// enough resources.
func (g *given) lacksDevices() bool {
	members := 0
	for _, c := range g.classes {
		if c.minDevices() == 0 {
			members += len(c.members)
			continue
		}
		pools, free := map[model.PoolID]int{}, 0
		for _, info := range c.suitableNodes().Nodes {
			c.countFreeDevices(info, pools)
		}
		for _, n := range pools {
			free += n
		}
		members += min(len(c.members), free/c.minDevices())
	}
	return members < g.unit.Min
}

// countMembers returns the number of members of some classes.
func countMembers(classes []*podClass) int {
	n := 0
	for _, c := range classes {
		n += len(c.members)
	}
	return n
}
