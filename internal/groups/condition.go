package groups

import (
	"slices"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// reasonScheduled is what upstream writes, too.
const reasonScheduled = "Scheduled"

// maxMessage is what the API allows in a condition.
const maxMessage = 32768

// Outcome is what is to be said of a PodGroup: that it is scheduled, or why not.
type Outcome struct {
	Scheduled bool
	// Reason is a condition reason; Message is stable, without times and counters that
	// run.
	Reason, Message string
}

// Scheduled says that the group's binds are written.
func Scheduled(message string) Outcome { return Outcome{true, reasonScheduled, message} }

// Unschedulable says that the group cannot be placed as things are.
func Unschedulable(message string) Outcome {
	return Outcome{false, schedulingv1beta1.PodGroupReasonUnschedulable, message}
}

// SchedulerError says that placing it went wrong.
func SchedulerError(message string) Outcome {
	return Outcome{false, schedulingv1beta1.PodGroupReasonSchedulerError, message}
}

// Because returns the outcome with the scheduler's reason for it.
func (o Outcome) Because(said Outcome) Outcome {
	return Outcome{o.Scheduled, said.Reason, o.Message + ": " + said.Message}
}

// Assess gives the outcome that follows from the pods alone: scheduled when enough
// of them have a node (of a basic group one), unschedulable when a gang lacks pods, or
// has lost placed ones, or its minCount was raised, since it was scheduled (F22, F29, P9). Else it is for the scheduler
// to say, and known is false.
func Assess(group *scheduling.PodGroup, q Quorum) (o Outcome, known bool) {
	switch {
	case q.Gang && q.Placed >= q.Min:
		return Scheduled(q.of(q.Placed, "are placed")), true
	case !q.Gang && q.Placed > 0:
		return Scheduled("pods are placed one by one"), true
	case !q.Met():
		return Unschedulable(q.Message()), true
	case !isTrue(group.Status.Conditions, scheduling.PodGroupScheduled) && !isTrue(group.Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled):
		return Outcome{}, false
	case !q.Gang:
		return Unschedulable("no pod is placed any more"), true
	}
	return Unschedulable(q.of(q.Placed, "are placed")), true
}

// Conditions gives the PodGroup's conditions after the outcome, and whether they
// differ from those it has. PodGroupScheduled says the outcome; so does
// PodGroupInitiallyScheduled until it is True once.
func Conditions(group *scheduling.PodGroup, o Outcome, now metav1.Time) (conditions []metav1.Condition, changed bool) {
	conditions = slices.Clone(group.Status.Conditions)
	condition := metav1.Condition{
		Status: metav1.ConditionFalse, Reason: o.Reason, Message: strings.ToValidUTF8(o.Message[:min(len(o.Message), maxMessage)], ""),
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
		conditions, changed = set(conditions, condition, changed)
	}
	return conditions, changed
}

// set puts c in place of the condition of its type. The time stays when the status does.
func set(conditions []metav1.Condition, c metav1.Condition, changed bool) ([]metav1.Condition, bool) {
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
