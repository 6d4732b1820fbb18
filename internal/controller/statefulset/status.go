package statefulset

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/allot-dev/allot/internal/controller/replica"
)

// status returns the status of the set. Pods that the plan deletes count as being deleted.
func (p *pass) status() appsv1.StatefulSetStatus {
	collisions := p.Collisions
	status := appsv1.StatefulSetStatus{
		ObservedGeneration: p.Set.Generation,
		CurrentRevision:    p.Current.Name,
		UpdateRevision:     p.Update.Name,
		CollisionCount:     &collisions,
		Conditions:         p.Set.Status.Conditions,
	}
	for _, s := range slices.Concat(p.slots, p.condemned) {
		if s.pod == nil {
			continue
		}
		status.Replicas++
		if replica.Ready(s.pod) {
			status.ReadyReplicas++
		}
		if replica.Available(s.pod, p.Set.Spec.MinReadySeconds, p.Now) {
			status.AvailableReplicas++
		}
		if s.going || s.pod.DeletionTimestamp != nil {
			continue
		}
		if revisionOf(s.pod) == p.Current.Name {
			status.CurrentReplicas++
		}
		if revisionOf(s.pod) == p.Update.Name {
			status.UpdatedReplicas++
		}
	}
	if all := int32(replicas(p.Set)); status.Replicas == all && status.ReadyReplicas == all &&
		status.UpdatedReplicas == all {
		status.CurrentRevision, status.CurrentReplicas = status.UpdateRevision, status.UpdatedReplicas
	}
	return status
}

func sameStatus(a, b appsv1.StatefulSetStatus) bool { return equality.Semantic.DeepEqual(a, b) }
