package daemonset

import (
	"cmp"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// limits returns maxSurge and maxUnavailable as numbers of nodes.
func (p *pass) limits(wanted int) (surge, unavailable int) {
	strategy := p.Set.Spec.UpdateStrategy
	if strategy.Type != appsv1.RollingUpdateDaemonSetStrategyType || strategy.RollingUpdate == nil {
		return 0, 1
	}
	surge = scaledValue(strategy.RollingUpdate.MaxSurge, wanted, 0)
	unavailable = scaledValue(strategy.RollingUpdate.MaxUnavailable, wanted, 1)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // otherwise the rollout could not proceed
	}
	return surge, unavailable
}

// scaledValue resolves percentages, rounding up.
func scaledValue(n *intstr.IntOrString, of, otherwise int) int {
	if n == nil {
		return otherwise
	}
	v, err := intstr.GetScaledValueFromIntOrPercent(n, of, true)
	if err != nil {
		return otherwise // validation rejects such a value
	}
	return v
}

// surges reports whether a node may have two pods during a rolling update.
func (p *pass) surges() bool {
	surge, _ := p.limits(1)
	return surge > 0
}

// desired returns the number of nodes that should have a pod.
func (p *pass) desired() int {
	n := 0
	for _, at := range p.places {
		if at.verdict.start {
			n++
		}
	}
	return n
}

// newAndOldPod returns the new and the old pod of a place, ignoring terminating ones. ok is false if there
// are several of one kind, which manage resolves first.
func (p *pass) newAndOldPod(at *place) (newer, older *core.Pod, ok bool) {
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

// roll updates pods: it deletes old ones, which manage replaces, or creates new ones in addition.
func (p *pass) roll() {
	if surge, unavailable := p.limits(p.desired()); surge > 0 {
		p.rollBySurge(surge)
	} else {
		p.rollByDeletion(unavailable)
	}
}

// rollByDeletion deletes unavailable old pods, and as many available ones as maxUnavailable
// permits.
func (p *pass) rollByDeletion(maxUnavailable int) {
	var candidates []*core.Pod
	unavailable := 0
	for _, at := range p.places {
		if len(at.pods) == 0 && !at.verdict.start {
			continue
		}
		newer, older, ok := p.newAndOldPod(at)
		switch {
		case !ok, (newer == nil) == (older == nil):
			unavailable++ // manage must act here first
		case newer != nil:
			if !p.isAvailable(newer) {
				unavailable++
			}
		case p.isAvailable(older):
			candidates = append(candidates, older)
		default:
			unavailable++
			p.remove(older) // it is unavailable anyway
		}
	}
	p.remove(candidates[:min(max(0, maxUnavailable-unavailable), len(candidates))]...)
}

// surgeCounts holds the counts for a rolling update with surge.
type surgeCounts struct {
	busy      int         // nodes with a new pod that is not available yet
	available int         // nodes with an available pod
	fresh     []string    // nodes with an unavailable old pod, which get a new one in any case
	next      []string    // nodes with an available old pod that could get a new one
	unwanted  []*core.Pod // available pods on nodes that are no longer suitable
}

// rollBySurge creates new pods in addition to old ones, and deletes the old ones when the new ones
// are available.
func (p *pass) rollBySurge(maxSurge int) {
	var s surgeCounts
	for _, at := range p.places {
		p.surgeAt(at, &s)
	}
	// A surge is meant to avoid gaps: pods on nodes that are no longer suitable are deleted only
	// after others have replaced them.
	p.remove(s.unwanted[:min(max(0, s.available-p.desired()), len(s.unwanted))]...)
	p.plan.Create = append(p.plan.Create, s.fresh...)
	p.plan.Create = append(p.plan.Create, s.next[:min(max(0, maxSurge-s.busy), len(s.next))]...)
}

func (p *pass) surgeAt(at *place, s *surgeCounts) {
	newer, older, ok := p.newAndOldPod(at)
	if !ok {
		s.busy++
		return
	}
	if serving := cmp.Or(older, newer); serving != nil && p.isAvailable(serving) {
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
