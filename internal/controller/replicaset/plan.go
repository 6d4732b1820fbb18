package replicaset

import (
	"slices"
	"time"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// Pods is the pods of one ReplicaSet that have not finished.
type Pods struct {
	Active      []*core.Pod // neither finished nor being deleted: they count as replicas
	Terminating []*core.Pod // being deleted, not finished
}

// Sort removes finished pods and splits the others.
func Sort(claimed []*core.Pod) Pods {
	var pods Pods
	for _, pod := range claimed {
		switch {
		case pod.Finished():
		case pod.DeletionTimestamp != nil:
			pods.Terminating = append(pods.Terminating, pod)
		default:
			pods.Active = append(pods.Active, pod)
		}
	}
	return pods
}

// Plan is the change that leads to spec.replicas pods. One of its fields is empty.
type Plan struct {
	Create int
	Delete []*core.Pod
}

// Decide compares the active pods with spec.replicas. A plan changes at most burst pods. related
// are the pods of all ReplicaSets with the same owner, including rs: pods on nodes with more of
// them are deleted first.
func Decide(rs *apps.ReplicaSet, active, related []*core.Pod, burst int, now time.Time) Plan {
	surplus := len(active) - int(replicas(rs))
	if surplus <= 0 {
		return Plan{Create: min(-surplus, burst)}
	}
	order := slices.Clone(active)
	if surplus < len(order) {
		ByDeletionPreference(order, related, now)
	}
	return Plan{Delete: order[:min(surplus, burst)]}
}

// replicas returns spec.replicas. The server sets a missing number to 1.
func replicas(rs *apps.ReplicaSet) int32 {
	if rs.Spec.Replicas == nil {
		return 1
	}
	return *rs.Spec.Replicas
}
