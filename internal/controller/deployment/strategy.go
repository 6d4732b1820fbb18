package deployment

import (
	"fmt"
	"math"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// limits resolves maxSurge (rounded up) and maxUnavailable (rounded down) of a rolling update. If
// both are 0, one pod may be unavailable, because otherwise the rollout could not proceed. Both are
// 0 for Recreate. A very large surge is limited so that replicas + surge does not overflow.
func limits(d *apps.Deployment) (surge, unavailable int32, err error) {
	replicas := replicasOf(d)
	if d.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0, 0, nil
	}
	var params appsv1.RollingUpdateDeployment
	if d.Spec.Strategy.RollingUpdate != nil {
		params = *d.Spec.Strategy.RollingUpdate
	}
	surge, err = share(params.MaxSurge, replicas, true)
	if err != nil {
		return 0, 0, fmt.Errorf("deployment %s/%s: maxSurge: %w", d.Namespace, d.Name, err)
	}
	unavailable, err = share(params.MaxUnavailable, replicas, false)
	if err != nil {
		return 0, 0, fmt.Errorf("deployment %s/%s: maxUnavailable: %w", d.Namespace, d.Name, err)
	}
	if surge == 0 && unavailable == 0 {
		unavailable = 1
	}
	return min(surge, math.MaxInt32-replicas), min(unavailable, replicas), nil
}

// share resolves a number or a percentage of total; nil is 0.
func share(of *intstr.IntOrString, total int32, roundUp bool) (int32, error) {
	n, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(of, intstr.FromInt32(0)), int(total), roundUp)
	return int32(max(0, min(n, math.MaxInt32))), err
}

// roll takes one step of a rolling update: more new pods if permitted, otherwise fewer old ones if
// enough pods are available.
func (r *rollout) roll() {
	if r.current == nil {
		r.create()
	}
	if r.growCurrent() || r.shrinkOld() {
		return
	}
	r.cleanUpWhenComplete()
}

// growCurrent grows the current set up to replicas + surge. A set that is too large shrinks.
func (r *rollout) growCurrent() bool {
	size := r.current.size()
	if size > r.replicas {
		return r.resizeIfNeeded(r.current, r.replicas)
	}
	return r.resizeIfNeeded(r.current, size+r.room(size))
}

// room returns how many pods a current set of the given size may add.
func (r *rollout) room(size int32) int32 {
	room := r.replicas + r.surge - requested(r.allSets())
	return max(0, min(room, r.replicas-size))
}

// shrinkOld scales down the old sets, oldest first: unavailable pods immediately, because they are
// no loss, then available ones as far as available new pods permit. Unavailable pods of the current
// set count against the total, so that a broken template does not cost more than maxUnavailable.
//
// 10 replicas, maxSurge 3, maxUnavailable 2; old 8, new 5, no new one is available: 13 requested −
// 8 that must be available − 5 unavailable new ones = 0 can be removed.
func (r *rollout) shrinkOld() bool {
	mustHave := r.replicas - r.missing
	budget := requested(r.allSets()) - mustHave - (r.current.size() - r.current.available())
	if requested(r.old) == 0 || budget <= 0 {
		return false
	}
	shrunk := false
	for _, s := range r.old {
		broken := min(budget, s.size()-s.Status.AvailableReplicas)
		if broken > 0 && s.size() > 0 {
			r.resize(s, s.size()-broken)
			budget, shrunk = budget-broken, true
		}
	}
	surplus := sum(r.allSets(), (*set).available) - mustHave
	for _, s := range r.old {
		if n := min(surplus, s.size()); n > 0 {
			r.resize(s, s.size()-n)
			surplus, shrunk = surplus-n, true
		}
	}
	return shrunk
}

// recreate takes one step: scale down all old sets, wait until no old pod is left, then scale up
// the current set.
func (r *rollout) recreate() {
	shrunk := false
	for _, s := range r.old {
		shrunk = r.resizeIfNeeded(s, 0) || shrunk
	}
	if shrunk || r.oldPodsLeft() {
		return
	}
	if r.current == nil {
		r.create()
	}
	r.resizeIfNeeded(r.current, r.replicas)
	r.cleanUpWhenComplete()
}

func (r *rollout) oldPodsLeft() bool {
	for _, s := range r.old {
		if s.Status.Replicas > 0 || r.podsLeft[s.Name] {
			return true
		}
	}
	return false
}
