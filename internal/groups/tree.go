package groups

import (
	"slices"
	"strings"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// TreeConditions returns the conditions of a CompositePodGroup for the outcome, and whether they
// differ from the current ones. CompositePodGroupInitiallyScheduled follows the outcome until it is
// True. placed means that enough of its pods have nodes and none is to be evicted: a group that was
// preempted is no DisruptionTarget any more.
func TreeConditions(
	group *v1alpha3.CompositePodGroup,
	o Outcome,
	placed bool,
	now metav1.Time,
) (conditions []metav1.Condition, changed bool) {
	conditions = slices.Clone(group.Status.Conditions)
	if placed && isTrue(conditions, schedulingv1beta1.DisruptionTarget) {
		conditions, changed = setCondition(conditions, rescheduled(group.Generation, now), false)
	}
	if isTrue(conditions, scheduling.CompositePodGroupInitiallyScheduled) {
		return conditions, changed
	}
	condition := metav1.Condition{
		Type: scheduling.CompositePodGroupInitiallyScheduled, Status: metav1.ConditionFalse, Reason: o.Reason,
		Message:            strings.ToValidUTF8(o.Message[:min(len(o.Message), maxMessage)], ""),
		ObservedGeneration: group.Generation, LastTransitionTime: now,
	}
	if o.Scheduled {
		condition.Status = metav1.ConditionTrue
	}
	return setCondition(conditions, condition, changed)
}
