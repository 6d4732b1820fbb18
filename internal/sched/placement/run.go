package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/sched/reason"
)

// run tries all shared devices and domains with filling alone. Only if that places too few, or not
// all of a gang, and counting does not prove that no more can be placed, it tries them again and
// backtracks in each attempt.
func (s *search) run() {
	s.active = s.input.classes
	s.affinity = s.input.affinityGroups()
	s.greedyCost = s.input.greedyCost()
	s.budget.Limit += s.greedyCost
	s.tryDomains()
	if s.isUndecided() || s.best.isComplete() {
		return
	}
	if s.best.placed >= s.input.unit.Min {
		if !s.input.prefersPacking() {
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

// tryDomains tries the unit, in one domain if its group has to be in one.
func (s *search) tryDomains() {
	key := s.input.topologyKey()
	if key == "" {
		s.allocateShared(0)
		return
	}
	domains := domainsOf(s.input.classes, key)
	if fixed := s.topology.Fixed; fixed != "" {
		domains = slices.DeleteFunc(domains, func(d *domain) bool { return d.value != fixed })
	}
	fits := make([]reason.DomainFit, 0, len(domains))
	s.tryEach(s.input.classes, key, domains, func(d *domain) {
		s.best.reached = 0
		s.allocateShared(0)
		fits = append(fits, reason.DomainFit{Value: d.value, Fits: s.best.reached})
	})
	s.topology.Domains = fits
}
