package placement

import "github.com/allot-dev/allot/internal/sched/reason"

// search tries the possible domains and allocations of shared claims, and makes an attempt to place
// the members with each.
type search struct {
	input    *input
	trial    *trial
	budget   budget
	best     best
	filler   filler
	topology *reason.Topology
	affinity []affinityGroup
	// active are the classes that are not skipped because a shared claim that they use has no
	// allocation.
	active []*podClass

	greedyCost int  // cost in steps of placing everything at the first try
	extraSteps int  // steps that may be spent on placing more members than the unit needs
	promising  bool // counts permit that backtracking places more members than filling did in some attempt
	deep       bool // filling was not sufficient: backtrack
	undecided  bool // the steps for some domain were not sufficient
}

// isUndecided reports whether steps were missing in some part of the search.
func (s *search) isUndecided() bool { return s.budget.exhausted || s.undecided }

// tryEach tries the domains one by one until every member is placed. Each gets its share of the
// steps that are left, so that one that is hard to refute leaves some to the others.
func (s *search) tryEach(classes []*podClass, key string, domains []*domain, try func(*domain)) bool {
	limit := s.budget.Limit
	defer func() { s.budget.Limit = limit }()
	for n, d := range domains {
		limit += s.greedyCost
		left := limit - s.budget.Spent
		s.budget.Limit = s.budget.Spent + s.greedyCost + max(0, left-s.greedyCost)/(len(domains)-n)
		for i, c := range classes {
			c.pins = append(c.pins, topologyPin{key: key, value: d.value, nodes: d.nodes[i]})
		}
		try(d)
		for _, c := range classes {
			c.pins = c.pins[:len(c.pins)-1]
		}
		s.undecided, s.budget.exhausted = s.isUndecided(), false
		if s.best.isComplete() {
			return true
		}
	}
	return false
}
