package daemonset

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/allot-dev/allot/internal/controller/replica"
)

// status returns the status of the set. Of several pods on a node, the one to keep counts.
func (p *pass) status() appsv1.DaemonSetStatus {
	status := appsv1.DaemonSetStatus{
		ObservedGeneration: p.Set.Generation,
		CollisionCount:     p.Set.Status.CollisionCount,
		Conditions:         p.Set.Status.Conditions,
	}
	if p.Collisions > 0 {
		status.CollisionCount = &p.Collisions
	}
	for _, at := range p.places {
		switch {
		case at.node == nil:
			continue
		case !at.verdict.start:
			if len(at.pods) > 0 {
				status.NumberMisscheduled++
			}
			continue
		}
		status.DesiredNumberScheduled++
		if len(at.pods) == 0 {
			continue
		}
		status.CurrentNumberScheduled++
		pod := at.pods[0]
		if replica.Ready(pod) {
			status.NumberReady++
		}
		if p.isAvailable(pod) {
			status.NumberAvailable++
		}
		if p.isNew(pod) {
			status.UpdatedNumberScheduled++
		}
	}
	status.NumberUnavailable = status.DesiredNumberScheduled - status.NumberAvailable
	return status
}

func sameStatus(a, b appsv1.DaemonSetStatus) bool { return equality.Semantic.DeepEqual(a, b) }
