package replicaset

import (
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// Status returns the status for the ReplicaSet. failure is the error of creations or deletions; the
// condition ReplicaFailure reports it until a pass succeeds.
func Status(rs *apps.ReplicaSet, pods Pods, failure error, now time.Time) appsv1.ReplicaSetStatus {
	terminating := int32(len(pods.Terminating))
	status := appsv1.ReplicaSetStatus{
		Replicas:            int32(len(pods.Active)),
		TerminatingReplicas: &terminating,
		ObservedGeneration:  rs.Generation,
		Conditions:          conditions(rs, len(pods.Active), failure, now),
	}
	template := labels.SelectorFromSet(rs.Spec.Template.Labels)
	for _, pod := range pods.Active {
		if template.Matches(labels.Set(pod.Labels)) {
			status.FullyLabeledReplicas++
		}
		if left, ready := replica.UntilAvailable(pod, rs.Spec.MinReadySeconds, now); ready {
			status.ReadyReplicas++
			if left <= 0 {
				status.AvailableReplicas++
			}
		}
	}
	return status
}

// conditions keeps an existing ReplicaFailure while the failure lasts, so that changing error texts
// cause no writes.
func conditions(rs *apps.ReplicaSet, active int, failure error, now time.Time) []appsv1.ReplicaSetCondition {
	isFailure := func(c appsv1.ReplicaSetCondition) bool { return c.Type == appsv1.ReplicaSetReplicaFailure }
	old := slices.Clone(rs.Status.Conditions)
	if failure == nil {
		return slices.DeleteFunc(old, isFailure)
	}
	if slices.ContainsFunc(old, isFailure) {
		return old
	}
	reason := "FailedCreate"
	if active > int(replicas(rs)) {
		reason = "FailedDelete"
	}
	return append(old, appsv1.ReplicaSetCondition{
		Type:               appsv1.ReplicaSetReplicaFailure,
		Status:             corev1.ConditionTrue,
		Reason:             reason,
		Message:            failure.Error(),
		LastTransitionTime: metav1.NewTime(now),
	})
}

func sameStatus(a, b appsv1.ReplicaSetStatus) bool { return equality.Semantic.DeepEqual(a, b) }
