package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// siteSearch is the search for victims for a unit at one site.
type siteSearch struct {
	preemptor *preemptor
	unit      *model.Unit
	nodes     []*model.NodeInfo
	victims   []*victim  // victims without which the unit can be placed
	plan      *plan.Plan // without these victims
}

// try tries to place the unit without the given victims. If that succeeds, it stores them as the
// victims of the search.
func (s *siteSearch) try(victims []*victim) bool {
	made := s.preemptor.tryWithout(s.unit, s.nodes, victims)
	if made == nil {
		return false
	}
	s.victims, s.plan = victims, made
	return true
}

// takeFirst takes as few of the victims as are sufficient, from the least important on. Few are
// tried before many, because removing them has a cost. It reports whether all victims are
// sufficient.
func (s *siteSearch) takeFirst(all []*victim) bool {
	enough, short := 0, 0
	for n := 1; enough == 0 && short < len(all) && s.preemptor.stepsLeft > 0; n *= 2 {
		n = min(n, len(all))
		if s.try(all[:n]) {
			enough = n
		} else {
			short = n
		}
	}
	if enough == 0 {
		return false
	}
	for enough > short+1 {
		middle := (enough + short) / 2
		if s.try(all[:middle]) {
			enough = middle
		} else {
			short = middle
		}
	}
	s.victims = slices.Clone(s.victims)
	return true
}

// addGradually takes one victim after the other. That can help where all together do not: the unit
// may have affinity for some.
func (s *siteSearch) addGradually(all []*victim) bool {
	if !s.preemptor.trial.state.Terms.Any() {
		return false
	}
	for n := 1; n < len(all) && s.preemptor.stepsLeft > 0; n++ {
		if s.try(all[:n]) {
			return true
		}
	}
	for i := 1; i < len(all) && s.preemptor.stepsLeft > 0; i++ {
		if s.try(all[i : i+1]) {
			return true
		}
	}
	return false
}

// reprieve drops victims that are not needed, the most important first, and as many at a time as
// possible. If the steps are spent, it drops at least those that are not where the unit is placed.
func (s *siteSearch) reprieve() {
	open := len(s.victims) // the victims from there on are needed
	for open > 0 && s.preemptor.stepsLeft > 0 {
		victims := s.victims
		n := longest(open, func(n int) bool { return s.try(slices.Concat(victims[:open-n], victims[open:])) })
		s.victims = slices.Delete(slices.Clone(victims), open-n, open)
		if open -= n; open > 0 {
			open--
		}
	}
	if open == 0 {
		return
	}
	there := s.inTheWay(s.victims[:open])
	if there = append(there, s.victims[open:]...); len(there) < len(s.victims) {
		s.try(there)
	}
}

// longest returns the largest n up to most that passes, if all below it do. It tries few numbers,
// near 0 first.
func longest(most int, passes func(n int) bool) int {
	n, step := 0, 1
	for ; n+step <= most && passes(n+step); step *= 2 {
		n += step
	}
	for step /= 2; step > 0; step /= 2 {
		if n+step <= most && passes(n+step) {
			n += step
		}
	}
	return n
}

// keepGangs takes only the pods that are in the way from a gang that would be evicted as a whole,
// if the gang can do without these.
func (s *siteSearch) keepGangs() {
	counts := map[*gang]int{}
	for _, v := range s.victims {
		counts[v.gang]++
	}
	for _, v := range slices.Clone(s.victims) {
		g := v.gang
		if g == nil || counts[g] <= g.surplus {
			continue
		}
		counts[g] = 0 // once is enough
		some := s.inTheWay(g.victims)
		if len(some) == 0 || len(some) > g.surplus {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(s.victims), func(v *victim) bool { return v.gang == g })
		s.try(append(others, some...))
	}
}

// inTheWay returns the victims on the plan's nodes, and those with devices that are not tied to a
// node.
func (s *siteSearch) inTheWay(victims []*victim) []*victim {
	nodes := map[string]bool{}
	for i := range s.plan.Pods {
		nodes[s.plan.Pods[i].Node] = true
	}
	var list []*victim
	for _, v := range victims {
		if v.fabric || v.holdsOnlyDevices() || v.isOn(nodes) {
			list = append(list, v)
		}
	}
	return list
}
