package cli

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
)

func (v *view) statefulSet(s *apps.StatefulSet) (text, wait string) {
	want, st := ptr.Deref(s.Spec.Replicas, 1), s.Status
	text = fmt.Sprintf("%d of %d available", st.AvailableReplicas, want)
	seen := st.ObservedGeneration >= s.Generation
	strategy := s.Spec.UpdateStrategy
	rolls := strategy.Type == appsv1.RollingUpdateStatefulSetStrategyType &&
		(strategy.RollingUpdate == nil || ptr.Deref(strategy.RollingUpdate.Partition, 0) == 0)
	if seen && st.AvailableReplicas == want && st.Replicas == want && (!rolls || st.UpdatedReplicas == want) {
		return text, ""
	}
	return text, joinReason(fmt.Sprintf("%s, %d up to date", text, st.UpdatedReplicas), v.ownedWait(s.UID, seen))
}

func (v *view) daemonSet(s *apps.DaemonSet) (text, wait string) {
	want, st := s.Status.DesiredNumberScheduled, s.Status
	text = fmt.Sprintf("%d of %d available", st.NumberAvailable, want)
	seen := st.ObservedGeneration >= s.Generation
	rolls := s.Spec.UpdateStrategy.Type == appsv1.RollingUpdateDaemonSetStrategyType
	if seen && st.NumberAvailable == want && (!rolls || st.UpdatedNumberScheduled == want) {
		return text, ""
	}
	return text, joinReason(fmt.Sprintf("%s, %d up to date", text, st.UpdatedNumberScheduled), v.ownedWait(s.UID, seen))
}

// job returns the state of a Job. It has settled when it is complete or suspended, or when as many
// pods run as its parallelism allows.
func (v *view) job(j *batch.Job) (text, wait string) {
	st := j.Status
	text = fmt.Sprintf("%d succeeded, %d running", st.Succeeded, ptr.Deref(st.Ready, 0))
	for _, c := range st.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			return "complete, " + text, ""
		case c.Type == batchv1.JobSuspended:
			return "suspended, " + text, ""
		case c.Type == batchv1.JobFailed:
			return "failed, " + text, joinReason("has failed", c.Message)
		}
	}
	want := ptr.Deref(j.Spec.Parallelism, 1)
	if j.Spec.Completions != nil {
		want = min(want, *j.Spec.Completions-st.Succeeded)
	}
	if ptr.Deref(st.Ready, 0) >= want && st.StartTime != nil {
		return text, ""
	}
	return text, joinReason(fmt.Sprintf("%s of %d", text, want), v.ownedWait(j.UID, true))
}

// ownedWait returns why an object's pods have not settled: the controller has not seen the object,
// a pod waits, or the controller reported a warning.
func (v *view) ownedWait(uid types.UID, seen bool) string {
	if !seen {
		return unseen
	}
	if why := v.firstWait(v.owned[uid]); why != "" {
		return why
	}
	return v.complaint(uid)
}
