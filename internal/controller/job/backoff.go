package job

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// A failed pod is replaced after firstWait. The delay doubles with each further consecutive
// failure, up to lastWait.
const (
	firstWait = 10 * time.Second
	lastWait  = 10 * time.Minute
)

// Backoff is the number of failures since the last success, and the time of the last failure.
type Backoff struct {
	Failures int
	Last     time.Time
}

// After returns the Backoff after these pods have ended.
func (b Backoff) After(succeeded, failed []*core.Pod) Backoff {
	var success time.Time
	for _, pod := range succeeded {
		success = latest(success, endedAt(pod))
	}
	if len(succeeded) > 0 {
		b = Backoff{}
	}
	for _, pod := range failed {
		if at := endedAt(pod); len(succeeded) == 0 || at.After(success) {
			b.Failures++
			b.Last = latest(b.Last, at)
		}
	}
	return b
}

// Wait returns the remaining delay before pods may be replaced.
func (b Backoff) Wait(now time.Time) time.Duration {
	if b.Failures == 0 {
		return 0
	}
	wait := firstWait
	for i := 1; i < b.Failures && wait < lastWait; i++ {
		wait *= 2
	}
	return max(0, b.Last.Add(min(wait, lastWait)).Sub(now))
}

func latest(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// endedAt returns the best known time of the pod's end: the end of its last container, the time it
// became unready, its deletion, or its creation.
func endedAt(pod *core.Pod) time.Time {
	if at, ok := containersEnded(pod); ok {
		return at
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionFalse && !c.LastTransitionTime.IsZero() {
			return c.LastTransitionTime.Time
		}
	}
	if pod.DeletionTimestamp == nil {
		return pod.CreationTimestamp.Time
	}
	grace := time.Duration(0)
	if pod.DeletionGracePeriodSeconds != nil {
		grace = time.Duration(*pod.DeletionGracePeriodSeconds) * time.Second
	}
	return pod.DeletionTimestamp.Add(-grace)
}

// containersEnded returns when the last container or sidecar ended. ok is false if one still runs.
func containersEnded(pod *core.Pod) (at time.Time, ok bool) {
	statuses := slices.Clone(pod.Status.ContainerStatuses)
	for _, s := range pod.Status.InitContainerStatuses {
		if isSidecar(pod, s.Name) {
			statuses = append(statuses, s)
		}
	}
	for _, s := range statuses {
		if s.State.Terminated == nil || s.State.Terminated.FinishedAt.IsZero() {
			return time.Time{}, false
		}
		at = latest(at, s.State.Terminated.FinishedAt.Time)
	}
	return at, len(statuses) > 0
}

func isSidecar(pod *core.Pod, container string) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == container && c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
	})
}
