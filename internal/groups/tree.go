package groups

import (
	"slices"
	"strings"

	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// TreeConditions returns the conditions of a CompositePodGroup for the outcome, and whether they
// differ from the current ones. CompositePodGroupInitiallyScheduled follows the outcome until it is
// True.
func TreeConditions(
	group *schedulingv1alpha3.CompositePodGroup,
	o Outcome,
	now metav1.Time,
) (conditions []metav1.Condition, changed bool) {
	conditions = slices.Clone(group.Status.Conditions)
	if isTrue(conditions, scheduling.CompositePodGroupInitiallyScheduled) {
		return conditions, false
	}
	condition := metav1.Condition{
		Type: scheduling.CompositePodGroupInitiallyScheduled, Status: metav1.ConditionFalse, Reason: o.Reason,
		Message:            strings.ToValidUTF8(o.Message[:min(len(o.Message), maxMessage)], ""),
		ObservedGeneration: group.Generation, LastTransitionTime: now,
	}
	if o.Scheduled {
		condition.Status = metav1.ConditionTrue
	}
	return setCondition(conditions, condition, false)
}
