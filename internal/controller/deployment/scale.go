package deployment

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
)

// Annotations of ReplicaSets with the size of the Deployment for which they were sized.
const (
	desiredAnnotation = "deployment.kubernetes.io/desired-replicas" // spec.replicas of the Deployment
	maxAnnotation     = "deployment.kubernetes.io/max-replicas"     // … + maxSurge
)

// isScaled reports whether the Deployment was resized since its sets were sized. The change is
// applied to all sets before the rollout continues.
func (r *rollout) isScaled() bool {
	return slices.ContainsFunc(activeSets(r.allSets()), func(s *set) bool {
		desired, ok := s.number(desiredAnnotation)
		return ok && desired != r.replicas
	})
}

// scaleAll resizes without advancing the rollout: a single set gets the whole change, several get
// shares in proportion to their sizes, so that the risk stays the same.
func (r *rollout) scaleAll() {
	sharing := activeSets(r.allSets())
	switch {
	case len(r.allSets()) == 0:
	case len(sharing) == 0:
		newest := r.allSets()[len(r.allSets())-1]
		r.resize(newest, r.replicas)
	case len(sharing) == 1:
		r.resize(sharing[0], r.replicas)
	case r.isSaturated():
		for _, s := range r.old {
			r.resizeIfNeeded(s, 0)
		}
	case r.d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType:
		r.share(sharing)
	}
}

// isSaturated reports whether the current set alone has all pods, available.
func (r *rollout) isSaturated() bool {
	if r.current == nil {
		return false
	}
	desired, ok := r.current.number(desiredAnnotation)
	return ok && desired == r.replicas && r.current.size() == r.replicas &&
		r.current.Status.AvailableReplicas == r.replicas
}

// share distributes the difference to replicas + surge. The remainder of the rounding goes to the
// largest set.
//
// 10 → 15 replicas, maxSurge 3 (13 → 18 in all); sets of 8 and 5: 8×18/13 − 8 = +3, 5×18/13 − 5 =
// +2.
func (r *rollout) share(sets []*set) {
	var total int32
	if r.replicas > 0 {
		total = r.replicas + r.surge
	}
	left := total - requested(sets)
	grow := left > 0
	slices.SortStableFunc(sets, func(a, b *set) int {
		byAge := byAge(a.ReplicaSet, b.ReplicaSet)
		if grow {
			byAge = -byAge // among equal sets, newer ones grow first and older ones shrink first
		}
		return cmp.Or(cmp.Compare(b.size(), a.size()), byAge)
	})
	sizes := make([]int32, len(sets))
	for i, s := range sets {
		part := r.proportion(s)
		if grow {
			part = max(0, min(part, left))
		} else {
			part = min(0, max(part, left))
		}
		sizes[i] = s.size() + part
		left -= part
	}
	sizes[0] = max(0, sizes[0]+left)
	for i, s := range sets {
		r.resize(s, sizes[i])
	}
}

// proportion returns how much s must grow to keep its share.
func (r *rollout) proportion(s *set) int32 {
	if r.replicas == 0 {
		return -s.size()
	}
	before, ok := s.number(maxAnnotation)
	if !ok || before == 0 {
		// Without the annotation, the last size of the Deployment is used.
		if before = r.d.Status.Replicas; before == 0 {
			return 0
		}
	}
	size := float64(s.size()) * float64(r.replicas+r.surge) / float64(before)
	return int32(math.Round(size)) - s.size()
}

// number reads an annotation with a count.
func (s *set) number(annotation string) (int32, bool) {
	n, err := strconv.ParseInt(s.Annotations[annotation], 10, 32)
	if err != nil || n < 0 {
		return 0, false
	}
	return int32(n), true
}

// recordSize records on s the size of the Deployment for which it was sized.
func (r *rollout) recordSize(s *set) {
	r.annotate(s, desiredAnnotation, strconv.Itoa(int(r.replicas)))
	r.annotate(s, maxAnnotation, strconv.Itoa(int(r.replicas+r.surge)))
}

func (r *rollout) annotate(s *set, key, value string) {
	if old, ok := s.Annotations[key]; ok && old == value {
		return
	}
	s.makeEditable()
	s.Annotations[key] = value
}
