package deployment

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// Reasons of the condition Progressing that decisions depend on.
const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
)

// sameStatus reports whether all fields that the controller writes are equal.
func sameStatus(a, b *apps.Deployment) bool {
	return equality.Semantic.DeepEqual(a.Status, b.Status) &&
		(maps.Equal(a.Annotations, b.Annotations) || len(a.Annotations)+len(b.Annotations) == 0)
}

// status returns the counts of the sets, and the condition Available.
func (r *rollout) status() appsv1.DeploymentStatus {
	all := r.allSets()
	status := appsv1.DeploymentStatus{
		ObservedGeneration:  r.d.Generation,
		Replicas:            sum(all, func(s *set) int32 { return s.Status.Replicas }),
		ReadyReplicas:       sum(all, func(s *set) int32 { return s.Status.ReadyReplicas }),
		AvailableReplicas:   available(all),
		UnavailableReplicas: max(0, requested(all)-available(all)),
		TerminatingReplicas: terminating(all),
		CollisionCount:      r.d.Status.CollisionCount,
		Conditions:          slices.Clone(r.d.Status.Conditions),
	}
	if r.current != nil {
		status.UpdatedReplicas = r.current.Status.Replicas
	}
	if status.AvailableReplicas >= r.replicas-r.missing {
		setCondition(&status, newCondition(appsv1.DeploymentAvailable, corev1.ConditionTrue,
			"MinimumReplicasAvailable", "Deployment has minimum availability.", r.now))
	} else {
		setCondition(&status, newCondition(appsv1.DeploymentAvailable, corev1.ConditionFalse,
			"MinimumReplicasUnavailable", "Deployment does not have minimum availability.", r.now))
	}
	return status
}

// terminating returns nil if a set with a status does not report the number.
func terminating(sets []*set) *int32 {
	var total int32
	for _, s := range sets {
		switch {
		case s.Status.TerminatingReplicas != nil:
			total += *s.Status.TerminatingReplicas
		case s.Status.ObservedGeneration > 0:
			return nil
		}
	}
	return &total
}

// isComplete reports whether all replicas are updated and available, and no others exist.
func isComplete(d *apps.Deployment, status *appsv1.DeploymentStatus) bool {
	replicas := replicasOf(d)
	return status.UpdatedReplicas == replicas && status.Replicas == replicas &&
		status.AvailableReplicas == replicas && status.ObservedGeneration >= d.Generation
}

func (r *rollout) hasDeadline() bool {
	seconds := r.d.Spec.ProgressDeadlineSeconds
	return seconds != nil && *seconds != math.MaxInt32
}

func (r *rollout) deadline() time.Duration {
	return time.Duration(*r.d.Spec.ProgressDeadlineSeconds) * time.Second
}

// progress compares the status with the previous one, and adds the conditions Progressing and
// ReplicaFailure.
func (r *rollout) progress(status appsv1.DeploymentStatus) appsv1.DeploymentStatus {
	before := condition(&r.d.Status, appsv1.DeploymentProgressing)
	switch {
	case !r.hasDeadline():
		removeCondition(&status, appsv1.DeploymentProgressing)
	case before != nil && before.Reason == reasonAvailable && status.Replicas == status.UpdatedReplicas:
		// No rollout is in progress: changes of pods do not count as progress.
	case isComplete(r.d, &status):
		setCondition(&status, r.progressing(corev1.ConditionTrue, reasonAvailable, "has successfully progressed."))
	case r.hasAdvanced(&status):
		c := r.progressing(corev1.ConditionTrue, "ReplicaSetUpdated", "is progressing.")
		if before != nil && before.Status == corev1.ConditionTrue {
			c.LastTransitionTime = before.LastTransitionTime
		}
		// The condition is renewed even if it is the same, because its time is that of the last
		// progress.
		removeCondition(&status, appsv1.DeploymentProgressing)
		setCondition(&status, c)
	case r.isLate(before):
		setCondition(&status, r.progressing(corev1.ConditionFalse, reasonTimedOut, "has timed out progressing."))
	}
	if failure, ok := r.replicaFailure(); ok {
		setCondition(&status, failure)
	} else {
		removeCondition(&status, appsv1.DeploymentReplicaFailure)
	}
	return status
}

// hasAdvanced reports whether new pods were added, old ones removed, or more are ready or available.
func (r *rollout) hasAdvanced(status *appsv1.DeploymentStatus) bool {
	before := &r.d.Status
	return status.UpdatedReplicas > before.UpdatedReplicas ||
		status.Replicas-status.UpdatedReplicas < before.Replicas-before.UpdatedReplicas ||
		status.ReadyReplicas > before.ReadyReplicas ||
		status.AvailableReplicas > before.AvailableReplicas
}

func (r *rollout) isLate(progressing *appsv1.DeploymentCondition) bool {
	switch {
	case progressing == nil || progressing.Reason == reasonAvailable:
		return false
	case progressing.Reason == reasonTimedOut:
		return true
	}
	return progressing.LastUpdateTime.Add(r.deadline()).Before(r.now)
}

// recheck returns the time until the deadline, plus a second because times in conditions have whole
// seconds.
func (r *rollout) recheck() time.Duration {
	c := condition(&r.d.Status, appsv1.DeploymentProgressing)
	if r.d.DeletionTimestamp != nil || r.d.Spec.Paused || !r.hasDeadline() || c == nil ||
		c.Reason == reasonTimedOut || isComplete(r.d, &r.d.Status) || c.Reason == reasonAvailable {
		return 0
	}
	return max(0, c.LastUpdateTime.Add(r.deadline()).Sub(r.now)) + time.Second
}

// replicaFailure returns the failure of the current set, or that of an old one.
func (r *rollout) replicaFailure() (appsv1.DeploymentCondition, bool) {
	for _, s := range slices.Backward(r.allSets()) {
		for _, c := range s.Status.Conditions {
			if c.Type == appsv1.ReplicaSetReplicaFailure {
				return appsv1.DeploymentCondition{
					Type: appsv1.DeploymentReplicaFailure, Status: c.Status, Reason: c.Reason, Message: c.Message,
					LastTransitionTime: c.LastTransitionTime, LastUpdateTime: c.LastTransitionTime,
				}, true
			}
		}
	}
	return appsv1.DeploymentCondition{}, false
}

// progressing returns a condition about the current set, or about the Deployment before it has one.
func (r *rollout) progressing(status corev1.ConditionStatus, reason, verdict string) appsv1.DeploymentCondition {
	subject := fmt.Sprintf("Deployment %q", r.d.Name)
	if r.current != nil {
		subject = fmt.Sprintf("ReplicaSet %q", r.current.Name)
	}
	return newCondition(appsv1.DeploymentProgressing, status, reason, subject+" "+verdict, r.now)
}

func (r *rollout) setProgressing(status corev1.ConditionStatus, reason, message string) {
	setCondition(&r.d.Status, newCondition(appsv1.DeploymentProgressing, status, reason, message, r.now))
}

// markPaused records pausing and resuming, so that the pause does not count towards the deadline. A
// deadline exceeded before stays recorded.
func (r *rollout) markPaused() {
	if !r.hasDeadline() {
		return
	}
	c := condition(&r.d.Status, appsv1.DeploymentProgressing)
	marked := c != nil && c.Reason == reasonPaused
	switch {
	case c != nil && c.Reason == reasonTimedOut:
	case r.d.Spec.Paused && !marked:
		r.setProgressing(corev1.ConditionUnknown, reasonPaused, "Deployment is paused")
	case !r.d.Spec.Paused && marked:
		r.setProgressing(corev1.ConditionUnknown, "DeploymentResumed", "Deployment is resumed")
	}
}
