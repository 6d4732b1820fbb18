package preempt

import "github.com/allot-dev/allot/internal/model"

// victimSite is a set of nodes where a unit could be placed after an eviction.
type victimSite struct {
	nodes     []*model.NodeInfo // nil means all
	here      []*victim         // victims with pods there
	elsewhere []*victim         // victims that may have devices that are missing there; some are in here, too
	estimate  evictionCost
}

// victims iterates over all victims, the least important first.
func (s *victimSite) victims(yield func(*victim) bool) {
	here, elsewhere := s.here, s.elsewhere
	for len(here)+len(elsewhere) > 0 {
		var next *victim
		switch {
		case len(elsewhere) == 0 || len(here) > 0 && here[0].rank < elsewhere[0].rank:
			next, here = here[0], here[1:]
		case len(here) > 0 && here[0] == elsewhere[0]:
			here = here[1:]
			fallthrough
		default:
			next, elsewhere = elsewhere[0], elsewhere[1:]
		}
		if !yield(next) {
			return
		}
	}
}
