package printers

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// podSummary is the state of a pod's containers on one line.
type podSummary struct {
	reason       string
	ready, total int
	restarts     restarts
}

// restarts has the number of container restarts, and the time at which the last terminated run
// ended.
type restarts struct {
	count int
	last  metav1.Time
}

func (r *restarts) add(status *corev1.ContainerStatus) {
	r.count += int(status.RestartCount)
	if ended := status.LastTerminationState.Terminated; ended != nil && r.last.Before(&ended.FinishedAt) {
		r.last = ended.FinishedAt
	}
}

// summarize starts with the phase, which is replaced by the reason why the pod does not start, then
// by the state of its init containers, then by that of its containers. Deletion takes precedence.
func summarize(pod *core.Pod) podSummary {
	s := podSummary{reason: string(pod.Status.Phase), total: len(pod.Spec.Containers)}
	if pod.Status.Reason != "" {
		s.reason = pod.Status.Reason
	}
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		c := &pod.Spec.InitContainers[i]
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars[c.Name] = true
		}
	}
	s.total += len(sidecars)

	initializing, sidecarRestarts := s.initContainers(pod, sidecars)
	if !initializing || hasCondition(&pod.Status, corev1.PodInitialized) {
		// After a pod has started, the restarts of ordinary init containers are not relevant.
		s.restarts = sidecarRestarts
		s.containers(&pod.Status)
	}
	if pod.DeletionTimestamp != nil {
		switch {
		case pod.Status.Reason == nodeUnreachable:
			s.reason = "Unknown"
		case !pod.Finished():
			s.reason = "Terminating"
		}
	}
	return s
}

// initContainers stops at the first init container that is not done. It returns whether there is
// one, and the restarts of sidecars.
func (s *podSummary) initContainers(
	pod *core.Pod, sidecars map[string]bool,
) (initializing bool, sidecarRestarts restarts) {
	for i := range pod.Status.InitContainerStatuses {
		status := &pod.Status.InitContainerStatuses[i]
		s.restarts.add(status)
		if sidecars[status.Name] {
			sidecarRestarts.add(status)
		}
		ended := status.State.Terminated
		if ended != nil && ended.ExitCode == 0 {
			continue
		}
		if sidecars[status.Name] && status.Started != nil && *status.Started {
			if status.Ready {
				s.ready++
			}
			continue
		}
		switch waiting := status.State.Waiting; {
		case ended != nil:
			s.reason = "Init:" + endReason(ended)
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return true, sidecarRestarts
	}
	return false, sidecarRestarts
}

// containers iterates backwards, so that the first container takes precedence.
func (s *podSummary) containers(status *corev1.PodStatus) {
	running, failure := false, ""
	for i := len(status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &status.ContainerStatuses[i]
		s.restarts.add(c)
		switch ended := c.State.Terminated; {
		case c.State.Waiting != nil && c.State.Waiting.Reason != "":
			s.reason = c.State.Waiting.Reason
		case ended != nil:
			s.reason = endReason(ended)
			if ended.ExitCode != 0 {
				failure = s.reason
			}
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	if s.reason != "Completed" {
		return
	}
	switch {
	case running && hasCondition(status, corev1.PodReady):
		s.reason = "Running"
	case failure != "":
		s.reason = failure
	case running:
		s.reason = "NotReady"
	}
}

func endReason(ended *corev1.ContainerStateTerminated) string {
	switch {
	case ended.Reason != "":
		return ended.Reason
	case ended.Signal != 0:
		return fmt.Sprintf("Signal:%d", ended.Signal)
	default:
		return fmt.Sprintf("ExitCode:%d", ended.ExitCode)
	}
}
