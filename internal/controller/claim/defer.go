package claim

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
)

// creationPeriod is how long after the creation of a pod its claims are left to the scheduler. It is
// for pods that the scheduler does not come to: one that was tried has a condition.
const creationPeriod = 10 * time.Second

// leftToScheduler returns how long the claims of a pod are left to the scheduler, which creates them
// with their devices when it places the pod. That saves a write for each. It is 0 for a pod that
// waits, for one of another scheduler, and if something else has to be recorded or reported.
func (c *Controller) leftToScheduler(pod *core.Pod, group *scheduling.PodGroup) time.Duration {
	switch {
	case c.scheduler == "" || pod.Spec.SchedulerName != c.scheduler || pod.Spec.NodeName != "":
		return 0
	case hasWaited(pod) || !claims.OnlyExpects(pod, group) || claims.LacksGroupClaims(pod, group):
		return 0
	}
	return creationPeriod - c.clock.Since(pod.CreationTimestamp.Time)
}

// hasWaited reports whether a pod has the condition that it is not scheduled.
func hasWaited(pod *core.Pod) bool {
	for i := range pod.Status.Conditions {
		if pod.Status.Conditions[i].Type == corev1.PodScheduled {
			return true
		}
	}
	return false
}
