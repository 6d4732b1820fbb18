package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// input is the input of a placement: the unit, its pods by class, and the claims that they share.
// Only the topology pins of pod classes change during a search.
type input struct {
	scope
	members []*podCandidate // the pods that can be tried
	classes []*podClass
	shared  []*sharedClaims
}

// sharedClaims are unallocated claims that the same classes use. They are allocated together, for
// one node; the devices determine from which other nodes they can be used.
type sharedClaims struct {
	claims  []*model.Claim
	classes []*podClass
	problem *alloc.Problem
}

// greedyCost returns what it costs in steps to place everything at the first try. It is not taken
// from the budget.
func (in *input) greedyCost() int {
	steps := len(in.members)
	for _, c := range in.classes {
		most := 0
		for _, f := range c.forms() {
			if f.problem != nil {
				most = max(most, f.problem.MaxDevices())
			}
		}
		steps += len(c.members) * most
	}
	for _, s := range in.shared {
		steps += s.problem.MaxDevices()
	}
	return steps
}

// countMembers returns the number of members of some classes.
func countMembers(classes []*podClass) int {
	n := 0
	for _, c := range classes {
		n += len(c.members)
	}
	return n
}
