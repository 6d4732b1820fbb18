package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// allocateShared tries the possible allocations of the shared claims from this index on, and places
// the members with each. It reports whether nothing better can be found.
func (s *search) allocateShared(at int) bool {
	if at == len(s.input.shared) {
		return s.placeAffinityGroups(0)
	}
	shared := s.input.shared[at]
	tried := map[string]bool{}
	for _, node := range s.anchors(shared) {
		offer, reason := shared.problem.NodeOffer(node)
		if reason != nil {
			continue
		}
		outcome := offer.Search(&s.budget.Budget, func(choice alloc.Choice) bool {
			key := choice.Key()
			if tried[key] {
				return false
			}
			tried[key] = true
			return s.withSharedAllocation(at, choice)
		})
		switch outcome {
		case alloc.Accepted:
			return true
		case alloc.OutOfBudget:
			s.budget.exhausted = true
			return true
		}
	}
	return s.skipSharedClaims(at)
}

// withSharedAllocation continues with the shared claims at this index allocated. It reverts that
// before it returns.
func (s *search) withSharedAllocation(at int, choice alloc.Choice) bool {
	mark := s.trial.mark()
	for i, claim := range s.input.shared[at].claims {
		s.trial.assumeClaim(claim.Key, model.Assumption{Allocation: choice[i]})
	}
	done := s.allocateShared(at + 1)
	s.trial.undo(mark)
	return done
}

// skipSharedClaims continues without the members that use the shared claims at this index, if there
// are enough others.
func (s *search) skipSharedClaims(at int) bool {
	before := s.active
	users := s.input.shared[at].classes
	s.active = slices.DeleteFunc(slices.Clone(before), func(c *podClass) bool { return slices.Contains(users, c) })
	defer func() { s.active = before }()
	if countMembers(s.active) >= s.input.unit.Min {
		return s.allocateShared(at + 1)
	}
	s.best.recordFailure()
	return false
}

// anchors returns the nodes on which an active class could use the shared claims, best first.
func (s *search) anchors(shared *sharedClaims) []*model.NodeInfo {
	seen := map[*model.NodeInfo]bool{}
	var anchors []*model.NodeInfo
	for _, c := range shared.classes {
		if !slices.Contains(s.active, c) {
			continue
		}
		for _, info := range c.candidates(shared.problem).Nodes() {
			if !seen[info] {
				seen[info] = true
				anchors = append(anchors, info)
			}
		}
	}
	return anchors
}

// placeAffinityGroups makes attempts with each affinity group from this index on in one domain
// after the other.
func (s *search) placeAffinityGroups(at int) bool {
	if at == len(s.affinity) {
		return s.attempt()
	}
	group := s.affinity[at]
	key := group.term.TopologyKey
	domains := domainsOf(group.classes, key)
	if len(domains) == 0 {
		return s.placeAffinityGroups(at + 1) // without them
	}
	return s.tryEach(group.classes, key, domains, func(*domain) { s.placeAffinityGroups(at + 1) })
}
