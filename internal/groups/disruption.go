package groups

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// reasonPlacedAnew is why a group is no longer about to be disrupted.
const reasonPlacedAnew = "PlacedAnew"

// Disruption gives the conditions with what the pods say of the group's own disruption (R36), and whether that changed
// them: DisruptionTarget is True when all pods of the group that have a node were chosen to make room for others, and
// stays so until others of its pods have a node.
func Disruption(group *scheduling.PodGroup, pods []*core.Pod, conditions []metav1.Condition, now metav1.Time) ([]metav1.Condition, bool) {
	placed, victims, message := 0, 0, ""
	for _, pod := range pods {
		if !names(pod, group) || pod.Spec.NodeName == "" || pod.Finished() {
			continue
		}
		placed++
		if text, chosen := Victim(pod); chosen {
			victims++
			message = max(message, text)
		}
	}
	switch {
	case placed == 0:
	case victims == placed:
		return Disrupted(group, conditions, message, now)
	case victims == 0 && isTrue(conditions, schedulingv1beta1.DisruptionTarget):
		return set(conditions, metav1.Condition{
			Type: schedulingv1beta1.DisruptionTarget, Status: metav1.ConditionFalse, Reason: reasonPlacedAnew, Message: "pods are placed anew",
			ObservedGeneration: group.Generation, LastTransitionTime: now,
		}, false)
	}
	return conditions, false
}

// Disrupted gives the conditions of a group that leaves as a whole to make room, and whether that changed them.
func Disrupted(group *scheduling.PodGroup, conditions []metav1.Condition, message string, now metav1.Time) ([]metav1.Condition, bool) {
	return set(slices.Clone(conditions), metav1.Condition{
		Type: schedulingv1beta1.DisruptionTarget, Status: metav1.ConditionTrue, Reason: schedulingv1beta1.PodGroupReasonPreemptionByScheduler,
		Message: message, ObservedGeneration: group.Generation, LastTransitionTime: now,
	}, false)
}

// Victim says whether a pod was chosen by a scheduler to make room for others, and what it was told.
func Victim(pod *core.Pod) (message string, chosen bool) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonPreemptionByScheduler {
			return c.Message, true
		}
	}
	return "", false
}
