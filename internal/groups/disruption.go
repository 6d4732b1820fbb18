package groups

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// reasonRescheduled is the reason when a disrupted group has been scheduled again.
const reasonRescheduled = "Rescheduled"

// Disruption returns the conditions with DisruptionTarget set from the pods (R36), and whether that
// changed them. DisruptionTarget becomes True when all placed pods of the group are preemption
// victims, and stays True until other pods of the group have a node.
func Disruption(
	group *scheduling.PodGroup, pods []*core.Pod, conditions []metav1.Condition, now metav1.Time,
) ([]metav1.Condition, bool) {
	placed, victims, message := 0, 0, ""
	for _, pod := range pods {
		if !isMember(pod, group) || pod.Spec.NodeName == "" || pod.Finished() {
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
		return Disrupted(group.Generation, conditions, message, now)
	case victims == 0 && isTrue(conditions, schedulingv1beta1.DisruptionTarget):
		return setCondition(conditions, rescheduled(group.Generation, now), false)
	}
	return conditions, false
}

// Disrupted returns the conditions of a PodGroup or CompositePodGroup that is preempted as a whole,
// and whether they changed.
func Disrupted(
	generation int64, conditions []metav1.Condition, message string, now metav1.Time,
) ([]metav1.Condition, bool) {
	return setCondition(slices.Clone(conditions), metav1.Condition{
		Type: schedulingv1beta1.DisruptionTarget, Status: metav1.ConditionTrue,
		Reason:  schedulingv1beta1.PodGroupReasonPreemptionByScheduler,
		Message: message, ObservedGeneration: generation, LastTransitionTime: now,
	}, false)
}

// rescheduled returns the condition of a group that was preempted and whose pods have nodes again.
func rescheduled(generation int64, now metav1.Time) metav1.Condition {
	return metav1.Condition{
		Type: schedulingv1beta1.DisruptionTarget, Status: metav1.ConditionFalse, Reason: reasonRescheduled,
		Message: "pods were scheduled again", ObservedGeneration: generation, LastTransitionTime: now,
	}
}

// Victim reports whether a scheduler selected the pod as a preemption victim, and returns the
// message of its condition.
func Victim(pod *core.Pod) (message string, chosen bool) {
	for i := range pod.Status.Conditions {
		c := &pod.Status.Conditions[i]
		if c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue &&
			c.Reason == corev1.PodReasonPreemptionByScheduler {
			return c.Message, true
		}
	}
	return "", false
}
