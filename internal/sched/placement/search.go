package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// search tries the possible domains and allocations of shared claims, and makes an attempt to place
// the members with each.
type search struct {
	given    *given
	trial    *trial
	budget   budget
	best     best
	filler   filler
	topology *reason.Topology
	affinity []affinityGroup
	// active are the classes that are not skipped because a shared claim that they use has no
	// allocation.
	active []*podClass

	greedyCost int  // of placing everything at the first try, in steps
	extraSteps int  // that may be spent on placing more members than the unit needs
	promising  bool // by counting, backtracking could place more in some attempt than filling did
	deep       bool // filling was not sufficient: backtrack
	undecided  bool // the steps for some domain were not sufficient
}

// run tries all shared devices and domains with filling alone. Only if that places too few, or not
// all of a gang, and counting does not prove that no more can be placed, it tries them again and
// backtracks in each attempt.
func (s *search) run() {
	s.active = s.given.classes
	s.affinity = s.given.affinityGroups()
	s.greedyCost = s.given.greedyCost()
	s.budget.Limit += s.greedyCost
	s.tryDomains()
	if s.isUndecided() || s.best.isComplete() {
		return
	}
	if s.best.placed >= s.given.unit.Min {
		if !s.given.prefersPacking() {
			return
		}
		s.budget.Limit = min(s.budget.Limit, s.budget.Spent+s.extraSteps)
	}
	if !s.promising {
		return
	}
	s.deep = true
	s.budget.Limit += s.greedyCost
	s.tryDomains()
}

// isUndecided reports whether steps were missing in some part of the search.
func (s *search) isUndecided() bool { return s.budget.exhausted || s.undecided }

// allocateShared tries the possible allocations of the shared claims from this index on, and places
// the members with each. It reports whether nothing better can be found.
func (s *search) allocateShared(at int) bool {
	if at == len(s.given.shared) {
		return s.placeAffinityGroups(0)
	}
	shared := s.given.shared[at]
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
	for i, claim := range s.given.shared[at].claims {
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
	users := s.given.shared[at].classes
	s.active = slices.DeleteFunc(slices.Clone(before), func(c *podClass) bool { return slices.Contains(users, c) })
	defer func() { s.active = before }()
	if countMembers(s.active) >= s.given.unit.Min {
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
