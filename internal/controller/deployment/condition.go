package deployment

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func newCondition(
	t appsv1.DeploymentConditionType, status corev1.ConditionStatus, reason, message string, now time.Time,
) appsv1.DeploymentCondition {
	at := metav1.NewTime(now)
	return appsv1.DeploymentCondition{
		Type: t, Status: status, Reason: reason, Message: message, LastUpdateTime: at, LastTransitionTime: at,
	}
}

// condition returns a copy of the condition of type t, or nil.
func condition(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	for _, c := range status.Conditions {
		if c.Type == t {
			return &c
		}
	}
	return nil
}

// setCondition adds or replaces a condition. If status and reason are the same, nothing changes; if
// the status is the same, the transition time is kept.
func setCondition(status *appsv1.DeploymentStatus, c appsv1.DeploymentCondition) {
	if old := condition(status, c.Type); old != nil && old.Status == c.Status {
		if old.Reason == c.Reason {
			return
		}
		c.LastTransitionTime = old.LastTransitionTime
	}
	removeCondition(status, c.Type)
	status.Conditions = append(status.Conditions, c)
}

func removeCondition(status *appsv1.DeploymentStatus, t appsv1.DeploymentConditionType) {
	status.Conditions = slices.DeleteFunc(slices.Clone(status.Conditions),
		func(c appsv1.DeploymentCondition) bool { return c.Type == t })
}
