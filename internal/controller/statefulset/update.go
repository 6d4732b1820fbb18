package statefulset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

func isRolling(set *apps.StatefulSet) bool {
	return set.Spec.UpdateStrategy.Type == appsv1.RollingUpdateStatefulSetStrategyType
}

// partition is how many of the first slots keep the current revision.
func partition(set *apps.StatefulSet) int {
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		return int(*r.Partition)
	}
	return 0
}

// maxUnavailable is how many pods a rolling update may keep from being available; at least 1, or nothing would move.
func maxUnavailable(set *apps.StatefulSet) int {
	r := set.Spec.UpdateStrategy.RollingUpdate
	if r == nil || r.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(r.MaxUnavailable, replicas(set), false)
	if err != nil {
		return 1 // the server's validation does not let such a text in
	}
	return max(1, n)
}

// revisionFor is the revision with which the pod of a slot is created.
func (p *pass) revisionFor(slot int) Revision {
	keeps := partition(p.Set)
	if p.Set.Spec.UpdateStrategy.RollingUpdate == nil {
		keeps = int(p.Set.Status.CurrentReplicas) // what the update has not reached yet
	}
	if isRolling(p.Set) && slot < keeps {
		return p.Current
	}
	return p.Update
}

// update deletes pods that have an old template, so that they are created anew: from the highest slot down, as many as may
// be unavailable, none below the partition.
func (p *pass) update() {
	if !isRolling(p.Set) {
		return
	}
	budget := maxUnavailable(p.Set) - (replicas(p.Set) - len(p.slots))
	for _, s := range p.slots {
		if !p.isAvailable(s) {
			budget--
		}
	}
	var old []*slot
	lowest := start(p.Set) + partition(p.Set)
	for _, s := range slices.Backward(p.slots) {
		if s.ordinal < lowest || s.pod == nil || s.pod.DeletionTimestamp != nil || revisionOf(s.pod) == p.Update.Name {
			continue
		}
		if p.isAvailable(s) {
			old = append(old, s)
		} else {
			p.remove(s) // it is no loss. Only a set that is not ordered comes here with such a pod
		}
	}
	for _, s := range old[:min(max(0, budget), len(old))] {
		p.remove(s)
	}
}
