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

// partition returns the number of first slots that keep the current revision.
func partition(set *apps.StatefulSet) int {
	if r := set.Spec.UpdateStrategy.RollingUpdate; r != nil && r.Partition != nil {
		return int(*r.Partition)
	}
	return 0
}

// maxUnavailable returns the number of pods that a rolling update may make unavailable, at least 1.
func maxUnavailable(set *apps.StatefulSet) int {
	r := set.Spec.UpdateStrategy.RollingUpdate
	if r == nil || r.MaxUnavailable == nil {
		return 1
	}
	n, err := intstr.GetScaledValueFromIntOrPercent(r.MaxUnavailable, replicas(set), false)
	if err != nil {
		return 1 // validation rejects such a text
	}
	return max(1, n)
}

// revisionFor returns the revision with which the pod of a slot is created.
func (p *pass) revisionFor(slot int) Revision {
	keeps := partition(p.Set)
	if p.Set.Spec.UpdateStrategy.RollingUpdate == nil {
		keeps = int(p.Set.Status.CurrentReplicas) // slots that the update has not reached yet
	}
	if isRolling(p.Set) && slot < keeps {
		return p.Current
	}
	return p.Update
}

// update deletes pods with an old template, so that they are created again: from the highest slot
// down, as many as may be unavailable, and none below the partition.
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
			p.remove(s) // it is not available anyway; only a set without order has such a pod here
		}
	}
	for _, s := range old[:min(max(0, budget), len(old))] {
		p.remove(s)
	}
}
