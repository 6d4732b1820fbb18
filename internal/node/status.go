package node

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// address holds the addresses of a pod and its host.
type address struct{ host, pod string }

// statusOf returns the part of the pod's status that the agent writes. Timestamps are kept if
// nothing else has changed.
func statusOf(pod *core.Pod, state PodState, at address, now time.Time) corev1.PodStatus {
	st := corev1.PodStatus{
		ObservedGeneration:    pod.Generation,
		Phase:                 phaseOf(state),
		StartTime:             pod.Status.StartTime,
		HostIP:                at.host,
		HostIPs:               []corev1.HostIP{{IP: at.host}},
		InitContainerStatuses: keepTimes(state.Init, pod.Status.InitContainerStatuses),
		ContainerStatuses:     keepTimes(state.Containers, pod.Status.ContainerStatuses),
	}
	if at.pod != "" {
		st.PodIP, st.PodIPs = at.pod, []corev1.PodIP{{IP: at.pod}}
	}
	if st.StartTime == nil {
		st.StartTime = new(metav1.NewTime(now))
	}
	st.Conditions = conditions(pod, state, st.Phase, now)
	return st
}

func phaseOf(state PodState) corev1.PodPhase {
	if state.Created {
		return corev1.PodPending
	}
	if !state.Ended {
		return corev1.PodRunning
	}
	for _, c := range state.Containers {
		if c.State.Terminated != nil && c.State.Terminated.ExitCode != 0 {
			return corev1.PodFailed
		}
	}
	return corev1.PodSucceeded
}

// conditions returns the four conditions that the agent sets.
func conditions(pod *core.Pod, state PodState, phase corev1.PodPhase, now time.Time) []corev1.PodCondition {
	ready := corev1.PodCondition{Type: corev1.ContainersReady, Status: corev1.ConditionTrue}
	initialized := corev1.PodCondition{Type: corev1.PodInitialized, Status: corev1.ConditionTrue}
	switch {
	case phase == corev1.PodSucceeded:
		ready.Status, ready.Reason = corev1.ConditionFalse, "PodCompleted"
		initialized.Reason = "PodCompleted"
	case phase == corev1.PodFailed:
		ready.Status, ready.Reason = corev1.ConditionFalse, "PodFailed"
	case state.Created:
		ready.Status, ready.Reason = corev1.ConditionFalse, "ContainersNotReady"
		ready.Message = "containers with unready status: " + namesOf(state.Containers)
		if len(state.Init) > 0 {
			initialized.Status, initialized.Reason = corev1.ConditionFalse, "ContainersNotInitialized"
			initialized.Message = "containers with incomplete status: " + namesOf(state.Init)
		}
	case !allReady(state):
		ready.Status, ready.Reason = corev1.ConditionFalse, "ContainersNotReady"
		ready.Message = "containers wait to be restarted"
	}
	podReady := ready
	podReady.Type = corev1.PodReady
	if gate, ok := closedGate(pod); ok && ready.Status == corev1.ConditionTrue {
		podReady.Status, podReady.Reason = corev1.ConditionFalse, "ReadinessGatesNotReady"
		podReady.Message = "the condition " + gate + " of a readiness gate is not True"
	}
	scheduled := corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}
	out := []corev1.PodCondition{scheduled, initialized, ready, podReady}
	for i := range out {
		out[i].ObservedGeneration = pod.Generation
		out[i].LastTransitionTime = metav1.NewTime(now)
		if old, ok := condition(pod, out[i].Type); ok && old.Status == out[i].Status {
			out[i].LastTransitionTime = old.LastTransitionTime
		}
	}
	return out
}

func namesOf(list []corev1.ContainerStatus) string {
	var names []string
	for _, c := range list {
		names = append(names, c.Name)
	}
	return fmt.Sprint(names)
}

// waitingState returns the state of a pod that has no containers yet.
func waitingState(pod *core.Pod) PodState {
	state := PodState{Created: true}
	reason := "ContainerCreating"
	if len(pod.Spec.InitContainers) > 0 {
		reason = "PodInitializing"
	}
	waiting := func(containers []corev1.Container) []corev1.ContainerStatus {
		var out []corev1.ContainerStatus
		for _, c := range containers {
			st := corev1.ContainerStatus{Name: c.Name, Image: c.Image, Started: new(bool)}
			st.State.Waiting = &corev1.ContainerStateWaiting{Reason: reason}
			out = append(out, st)
		}
		return out
	}
	state.Init, state.Containers = waiting(pod.Spec.InitContainers), waiting(pod.Spec.Containers)
	return state
}

func allReady(state PodState) bool {
	return !slices.ContainsFunc(state.Containers, func(c corev1.ContainerStatus) bool { return !c.Ready })
}

func closedGate(pod *core.Pod) (string, bool) {
	for _, gate := range pod.Spec.ReadinessGates {
		if c, ok := condition(pod, gate.ConditionType); !ok || c.Status != corev1.ConditionTrue {
			return string(gate.ConditionType), true
		}
	}
	return "", false
}

func condition(pod *core.Pod, typ corev1.PodConditionType) (corev1.PodCondition, bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == typ {
			return c, true
		}
	}
	return corev1.PodCondition{}, false
}

// keepTimes keeps the old state of a container if only fractions of a second have changed, which
// the API does not store.
func keepTimes(now, before []corev1.ContainerStatus) []corev1.ContainerStatus {
	for i := range now {
		for _, old := range before {
			if old.ContainerID != now[i].ContainerID {
				continue
			}
			if equality.Semantic.DeepEqual(seconds(now[i].State), seconds(old.State)) {
				now[i].State = old.State
			}
			if equality.Semantic.DeepEqual(seconds(now[i].LastTerminationState), seconds(old.LastTerminationState)) {
				now[i].LastTerminationState = old.LastTerminationState
			}
		}
	}
	return now
}

func seconds(s corev1.ContainerState) corev1.ContainerState {
	out := *s.DeepCopy()
	if out.Running != nil {
		out.Running.StartedAt = out.Running.StartedAt.Rfc3339Copy()
	}
	if out.Terminated != nil {
		out.Terminated.StartedAt = out.Terminated.StartedAt.Rfc3339Copy()
		out.Terminated.FinishedAt = out.Terminated.FinishedAt.Rfc3339Copy()
	}
	return out
}

// hasStatus reports whether the pod's status contains all of want.
func hasStatus(pod *core.Pod, want corev1.PodStatus) bool {
	have := pod.Status
	for _, c := range want.Conditions {
		old, ok := condition(pod, c.Type)
		if !ok || old.Status != c.Status || old.Reason != c.Reason || old.Message != c.Message ||
			old.ObservedGeneration != c.ObservedGeneration {
			return false
		}
	}
	return have.Phase == want.Phase && have.HostIP == want.HostIP && have.PodIP == want.PodIP &&
		have.StartTime != nil && have.ObservedGeneration == want.ObservedGeneration &&
		equality.Semantic.DeepEqual(have.ContainerStatuses, want.ContainerStatuses) &&
		equality.Semantic.DeepEqual(have.InitContainerStatuses, want.InitContainerStatuses)
}

// withStatus returns the pod with the agent's part of the status, and with the annotation of its
// devices unless that is empty; other fields are preserved. The
// result shares memory with the pod and may only be sent: its resource version ensures that no
// unseen change is overwritten.
func withStatus(pod *core.Pod, own corev1.PodStatus, devices string) *core.Pod {
	next := *pod
	if devices != "" {
		next.Annotations = map[string]string{AnnotationDevices: devices}
		for key, value := range pod.Annotations {
			if key != AnnotationDevices {
				next.Annotations[key] = value
			}
		}
	}
	st := &next.Status
	st.ObservedGeneration = own.ObservedGeneration
	st.Phase = own.Phase
	st.StartTime = own.StartTime
	st.HostIP, st.HostIPs = own.HostIP, own.HostIPs
	st.PodIP, st.PodIPs = own.PodIP, own.PodIPs
	st.InitContainerStatuses, st.ContainerStatuses = own.InitContainerStatuses, own.ContainerStatuses
	st.Conditions = slices.Clone(pod.Status.Conditions)
	for _, c := range own.Conditions {
		if i := slices.IndexFunc(st.Conditions, func(old corev1.PodCondition) bool { return old.Type == c.Type }); i >= 0 {
			st.Conditions[i] = c
		} else {
			st.Conditions = append(st.Conditions, c)
		}
	}
	return &next
}
