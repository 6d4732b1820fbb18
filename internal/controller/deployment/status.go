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

// Reasons of condition Progressing on which decisions depend.
const (
	reasonAvailable = "NewReplicaSetAvailable"
	reasonTimedOut  = "ProgressDeadlineExceeded"
	reasonPaused    = "DeploymentPaused"
)

// sameStatus says that nothing of what the controller writes on a Deployment differs.
func sameStatus(a, b *apps.Deployment) bool {
	return equality.Semantic.DeepEqual(a.Status, b.Status) &&
		(maps.Equal(a.Annotations, b.Annotations) || len(a.Annotations)+len(b.Annotations) == 0)
}

// status counts what the sets report, and tells whether enough is available.
func (r *rollout) status() appsv1.DeploymentStatus {
	all := r.all()
	status := appsv1.DeploymentStatus{
		ObservedGeneration:  r.d.Generation,
		Replicas:            sum(all, func(s *set) int32 { return s.Status.Replicas }),
		ReadyReplicas:       sum(all, func(s *set) int32 { return s.Status.ReadyReplicas }),
		AvailableReplicas:   available(all),
		UnavailableReplicas: max(0, asked(all)-available(all)),
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

// terminating is nil while a set that has a status does not report the number.
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

// isComplete says that status shows all replicas updated and available, and no others.
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

// progress judges how the rollout does, comparing status with the one before, and
// adds conditions Progressing and ReplicaFailure.
func (r *rollout) progress(status appsv1.DeploymentStatus) appsv1.DeploymentStatus {
	before := condition(&r.d.Status, appsv1.DeploymentProgressing)
	switch {
	case !r.hasDeadline():
		removeCondition(&status, appsv1.DeploymentProgressing)
	case before != nil && before.Reason == reasonAvailable && status.Replicas == status.UpdatedReplicas:
		// No rollout is going on: pods that come and go now say nothing about one.
	case isComplete(r.d, &status):
		setCondition(&status, r.progressing(corev1.ConditionTrue, reasonAvailable, "has successfully progressed."))
	case r.advanced(&status):
		c := r.progressing(corev1.ConditionTrue, "ReplicaSetUpdated", "is progressing.")
		if before != nil && before.Status == corev1.ConditionTrue {
			c.LastTransitionTime = before.LastTransitionTime
		}
		// The time of the last progress counts, so the condition is renewed even if it
		// says the same as before.
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

// advanced says that new pods came, old ones went, or more are ready or available.
func (r *rollout) advanced(status *appsv1.DeploymentStatus) bool {
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

// recheck is when the deadline may have passed, a second late because times in
// conditions have whole seconds.
func (r *rollout) recheck() time.Duration {
	c := condition(&r.d.Status, appsv1.DeploymentProgressing)
	if r.d.DeletionTimestamp != nil || r.d.Spec.Paused || !r.hasDeadline() || c == nil ||
		c.Reason == reasonTimedOut || isComplete(r.d, &r.d.Status) || c.Reason == reasonAvailable {
		return 0
	}
	return max(0, c.LastUpdateTime.Add(r.deadline()).Sub(r.now)) + time.Second
}

// replicaFailure takes over the failure of the current set, else that of an old one.
func (r *rollout) replicaFailure() (appsv1.DeploymentCondition, bool) {
	for _, s := range slices.Backward(r.all()) {
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

// progressing is a condition about the current set, or about the Deployment before it
// has one.
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

// markPaused notes pausing and resuming, so that the time in between does not count
// towards the deadline. A deadline that has passed before stays noted.
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
