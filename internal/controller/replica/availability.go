package replica

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Active reports whether the pod has neither finished nor is being deleted.
func Active(pod *core.Pod) bool { return !pod.Finished() && pod.DeletionTimestamp == nil }

// ReadySince returns the time at which the pod became ready. ok is false if it is not ready.
func ReadySince(pod *core.Pod) (since time.Time, ok bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.LastTransitionTime.Time, c.Status == corev1.ConditionTrue
		}
	}
	return time.Time{}, false
}

// Ready reports whether the pod is ready.
func Ready(pod *core.Pod) bool {
	_, ok := ReadySince(pod)
	return ok
}

// Available reports whether the pod has been ready for minReadySeconds.
func Available(pod *core.Pod, minReadySeconds int32, now time.Time) bool {
	left, ready := UntilAvailable(pod, minReadySeconds, now)
	return ready && left <= 0
}

// UntilAvailable returns the time for which the pod must stay ready until it counts as available,
// at most 0 if it does already. ok is false if it is not ready.
func UntilAvailable(pod *core.Pod, minReadySeconds int32, now time.Time) (left time.Duration, ok bool) {
	since, ready := ReadySince(pod)
	if !ready {
		return 0, false
	}
	if minReadySeconds == 0 {
		return 0, true
	}
	window := time.Duration(minReadySeconds) * time.Second
	if since.IsZero() {
		return window, true
	}
	return since.Add(window).Sub(now), true
}

// NextAvailability returns the time until the next ready pod becomes available. ok is false if none
// will without another change.
func NextAvailability(pods []*core.Pod, minReadySeconds int32, now time.Time) (next time.Duration, ok bool) {
	next = math.MaxInt64
	for _, pod := range pods {
		if left, ready := UntilAvailable(pod, minReadySeconds, now); ready && left > 0 {
			next, ok = min(next, left), true
		}
	}
	return next, ok
}
