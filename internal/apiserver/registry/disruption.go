package registry

import (
	"fmt"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxDisruptedPods limits the number of evictions that the controller has not processed yet.
const maxDisruptedPods = 2000

// mayDisrupt returns the reason why a budget does not allow an eviction.
func mayDisrupt(b *policyv1.PodDisruptionBudget) error {
	s := &b.Status
	switch {
	case s.ObservedGeneration < b.Generation:
		return refusal(b, 10, "has changed and is not counted yet")
	case len(s.DisruptedPods) > maxDisruptedPods:
		err := apierrors.NewForbidden(budgetResource, b.Name,
			fmt.Errorf("more than %d evictions are not counted yet", maxDisruptedPods))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes,
			cause(b, "has too many evictions that are not counted yet"))
		return err
	case s.DisruptionsAllowed > 0:
		return nil
	}
	failed := meta.FindStatusCondition(s.Conditions, policyv1.DisruptionAllowedCondition)
	if failed != nil && failed.Status == metav1.ConditionFalse && failed.Reason == policyv1.SyncFailedReason &&
		failed.Message != "" {
		return refusal(b, 0, "could not be counted: "+failed.Message)
	}
	if s.CurrentHealthy <= s.DesiredHealthy {
		return refusal(b, 0, fmt.Sprintf("needs %d healthy pods and has %d currently", s.DesiredHealthy, s.CurrentHealthy))
	}
	return refusal(b, 0, "allows no disruption currently")
}

// refusal returns the error for an eviction that may be retried, after some seconds if that is
// known.
func refusal(b *policyv1.PodDisruptionBudget, seconds int, why string) error {
	err := tooManyRequests("the pod's disruption budget does not allow its eviction", seconds)
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, cause(b, why))
	return err
}

func tooManyRequests(why string, seconds int) *apierrors.StatusError {
	return apierrors.NewTooManyRequests("Cannot evict pod: "+why+".", seconds)
}

func cause(b *policyv1.PodDisruptionBudget, why string) metav1.StatusCause {
	return metav1.StatusCause{
		Type:    policyv1.DisruptionBudgetCause,
		Message: fmt.Sprintf("The disruption budget %s %s", b.Name, why),
	}
}

// takeDisruption counts a pod that is about to be deleted, until the controller sees its deletion.
func takeDisruption(b *policyv1.PodDisruptionBudget, pod string, now time.Time) {
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[pod] = metav1.Time{Time: now.Truncate(time.Second)}
	if b.Status.DisruptionsAllowed == 0 {
		meta.SetStatusCondition(&b.Status.Conditions, metav1.Condition{
			Type: policyv1.DisruptionAllowedCondition, Status: metav1.ConditionFalse, Reason: policyv1.InsufficientPodsReason,
			ObservedGeneration: b.Status.ObservedGeneration, LastTransitionTime: metav1.Time{Time: now.Truncate(time.Second)},
		})
	}
}
