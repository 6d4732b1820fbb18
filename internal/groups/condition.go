package groups

import (
	"slices"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// reasonScheduled is the reason that upstream uses for a scheduled PodGroup.
const reasonScheduled = "Scheduled"

// maxMessage is the maximum length of a condition message in the API.
const maxMessage = 32768

// Outcome is the scheduling state of a PodGroup.
type Outcome struct {
	Scheduled bool
	// Reason is a condition reason. Message is stable: without times and without counters that
	// change constantly.
	Reason, Message string
}

// Scheduled returns the outcome for a group with its binds written.
func Scheduled(message string) Outcome { return Outcome{true, reasonScheduled, message} }

// Unschedulable returns the outcome for a group that currently cannot be placed.
func Unschedulable(message string) Outcome {
	return Outcome{false, schedulingv1beta1.PodGroupReasonUnschedulable, message}
}

// SchedulerError returns the outcome for a group for which an attempt failed with an error.
func SchedulerError(message string) Outcome {
	return Outcome{false, schedulingv1beta1.PodGroupReasonSchedulerError, message}
}

// Because returns the outcome with the scheduler's reason for it.
func (o Outcome) Because(cause Outcome) Outcome {
	return Outcome{o.Scheduled, cause.Reason, o.Message + ": " + cause.Message}
}

// Evaluate returns the outcome that follows from the pods alone: scheduled if enough of them have a
// node (one is enough for a basic group); unschedulable if a gang has too few pods, or lost placed
// pods or got a larger minCount after it was scheduled (F22, F29, P9). Otherwise known is false and
// the scheduler decides.
func Evaluate(group *scheduling.PodGroup, q Quorum) (o Outcome, known bool) {
	switch {
	case q.Gang && q.Placed >= q.Min:
		return Scheduled(q.ratio(q.Placed, "are placed")), true
	case !q.Gang && q.Placed > 0:
		return Scheduled("at least one pod is scheduled"), true
	case !q.Met():
		return Unschedulable(q.Message()), true
	case !isTrue(group.Status.Conditions, scheduling.PodGroupScheduled) &&
		!isTrue(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled):
		return Outcome{}, false
	case !q.Gang:
		return Unschedulable("no pods are scheduled"), true
	}
	return Unschedulable(q.ratio(q.Placed, "are placed")), true
}

// Conditions returns the conditions of the PodGroup for the outcome, and whether they differ from
// the current ones. PodGroupScheduled follows the outcome. PodGroupInitiallyScheduled does so until
// it is True.
func Conditions(group *scheduling.PodGroup, o Outcome, now metav1.Time) (conditions []metav1.Condition, changed bool) {
	conditions = slices.Clone(group.Status.Conditions)
	condition := metav1.Condition{
		Status: metav1.ConditionFalse, Reason: o.Reason,
		Message:            strings.ToValidUTF8(o.Message[:min(len(o.Message), maxMessage)], ""),
		ObservedGeneration: group.Generation, LastTransitionTime: now,
	}
	if o.Scheduled {
		condition.Status = metav1.ConditionTrue
	}
	types := []string{scheduling.PodGroupScheduled}
	if o.Scheduled || !isTrue(conditions, schedulingv1beta1.PodGroupInitiallyScheduled) {
		types = append(types, schedulingv1beta1.PodGroupInitiallyScheduled)
	}
	for _, condition.Type = range types {
		conditions, changed = setCondition(conditions, condition, changed)
	}
	return conditions, changed
}

// setCondition replaces the condition of the same type, and keeps its transition time if the status
// is the same.
func setCondition(conditions []metav1.Condition, c metav1.Condition, changed bool) ([]metav1.Condition, bool) {
	i := slices.IndexFunc(conditions, func(in metav1.Condition) bool { return in.Type == c.Type })
	if i < 0 {
		return append(conditions, c), true
	}
	if conditions[i].Status == c.Status {
		c.LastTransitionTime = conditions[i].LastTransitionTime
	}
	if conditions[i] == c {
		return conditions, changed
	}
	conditions[i] = c
	return conditions, true
}

func isTrue(conditions []metav1.Condition, of string) bool {
	return slices.ContainsFunc(conditions, func(c metav1.Condition) bool {
		return c.Type == of && c.Status == metav1.ConditionTrue
	})
}
