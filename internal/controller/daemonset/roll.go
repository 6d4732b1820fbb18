package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// limits are how many nodes may have a pod too many, or none that is available, out of those that should have one.
func (p *pass) limits(wanted int) (surge, unavailable int) {
	strategy := p.Set.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || strategy.RollingUpdate == nil {
		return 0, 1
	}
	surge = scaled(strategy.RollingUpdate.MaxSurge, wanted, 0)
	unavailable = scaled(strategy.RollingUpdate.MaxUnavailable, wanted, 1)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // or nothing would ever move
	}
	return surge, unavailable
}

// scaled resolves percentages, rounding up.
func scaled(n *intstr.IntOrString, of, otherwise int) int {
	if n == nil {
		return otherwise
	}
	v, err := intstr.GetScaledValueFromIntOrPercent(n, of, true)
	if err != nil {
		return otherwise // the server's validation does not let such a text in
	}
	return v
}

// surges says that a node may have two pods during a rolling update.
func (p *pass) surges() bool {
	surge, _ := p.limits(1)
	return surge > 0
}

// wanted is the number of nodes that should have a pod.
func (p *pass) wanted() int {
	n := 0
	for _, at := range p.places {
		if at.verdict.start {
			n++
		}
	}
	return n
}

// split finds the new and the old pod of a place among those that are not being deleted; ok is false if there are more of
// one kind, which manage clears up first.
func (p *pass) split(at *place) (newer, older *core.Pod, ok bool) {
	for _, pod := range at.pods {
		which := &older
		if p.isNew(pod) {
			which = &newer
		}
		switch {
		case pod.DeletionTimestamp != nil:
		case *which != nil:
			return nil, nil, false
		default:
			*which = pod
		}
	}
	return newer, older, true
}

// roll makes pods newer: by deleting old ones, which manage replaces, or by creating new ones beside them.
func (p *pass) roll() {
	if surge, unavailable := p.limits(p.wanted()); surge > 0 {
		p.rollBySurge(surge)
	} else {
		p.rollByDeletion(unavailable)
	}
}

// rollByDeletion deletes old pods that are not available, and of the others as many as there may be without one.
func (p *pass) rollByDeletion(maxUnavailable int) {
	var candidates []*core.Pod
	unavailable := 0
	for _, at := range p.places {
		if len(at.pods) == 0 && !at.verdict.start {
			continue
		}
		newer, older, ok := p.split(at)
		switch {
		case !ok, (newer == nil) == (older == nil):
			unavailable++ // manage has something to do here first
		case newer != nil:
			if !p.isAvailable(newer) {
				unavailable++
			}
		case p.isAvailable(older):
			candidates = append(candidates, older)
		default:
			unavailable++
			p.remove(older) // it is no loss
		}
	}
	p.remove(candidates[:min(max(0, maxUnavailable-unavailable), len(candidates))]...)
}

// surging counts what a rolling update by surge goes by.
type surging struct {
	busy      int         // nodes whose new pod is not available yet
	available int         // nodes that have an available pod
	fresh     []string    // nodes whose old pod serves no more: they get a new one in any case
	next      []string    // nodes whose old pod is available, and that could get a new one
	unwanted  []*core.Pod // available pods on nodes where none belongs any more
}

// rollBySurge creates new pods beside old ones, and deletes these when the new ones are available.
func (p *pass) rollBySurge(maxSurge int) {
	var s surging
	for _, at := range p.places {
		p.surgeAt(at, &s)
	}
	// Who asks for a surge wants no gap: pods on nodes that suit no more go only when others have taken their place.
	p.remove(s.unwanted[:min(max(0, s.available-p.wanted()), len(s.unwanted))]...)
	p.plan.Create = append(p.plan.Create, s.fresh...)
	p.plan.Create = append(p.plan.Create, s.next[:min(max(0, maxSurge-s.busy), len(s.next))]...)
}

func (p *pass) surgeAt(at *place, s *surging) {
	newer, older, ok := p.split(at)
	if !ok {
		s.busy++
		return
	}
	if older != nil && p.isAvailable(older) || older == nil && newer != nil && p.isAvailable(newer) {
		s.available++
	}
	switch {
	case older == nil: // nothing to replace
	case newer != nil && p.isAvailable(newer):
		p.remove(older)
	case newer != nil:
		s.busy++
	case p.isAvailable(older) && at.verdict.start:
		s.next = append(s.next, at.name)
	case p.isAvailable(older):
		s.unwanted = append(s.unwanted, older)
	case at.verdict.start:
		s.fresh = append(s.fresh, at.name)
	default:
		p.remove(older)
	}
}
