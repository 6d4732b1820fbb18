package explain

import (
	"cmp"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/model"
)

// Job explains why pods of a Job wait, or why there are none.
func (e *Explainer) Job(key model.Key) (*Report, error) {
	for _, job := range e.snap.Objects.Jobs {
		if model.KeyOf(job) != key {
			continue
		}
		r := e.report("Job", key)
		var members []*core.Pod
		unit := model.UnitKey{}
		for _, pod := range e.snap.Objects.Pods {
			if owner := metav1.GetControllerOfNoCopy(pod); owner == nil || owner.UID != job.UID {
				continue
			}
			members = append(members, pod)
			if name, ok := claims.GroupName(pod); ok {
				unit = model.UnitKey{Group: true, Key: model.Key{Namespace: pod.Namespace, Name: name}}
			}
		}
		e.scheduler(r, cmp.Or(job.Spec.Template.Spec.SchedulerName, DefaultScheduler))
		r.fact("Created", e.ago(job.CreationTimestamp))
		r.fact("Pods", podCounts(members))
		if unit.Group {
			r.fact("PodGroup", unit.Key.Name)
		}
		for _, c := range job.Status.Conditions {
			if c.Status != corev1.ConditionTrue {
				continue
			}
			text := strings.Join(strings.Fields(string(c.Type)+": "+c.Message), " ")
			r.fact("Condition", strings.TrimSuffix(text, ":"))
		}
		if job.Spec.Suspend != nil && *job.Spec.Suspend {
			r.State, r.Summary = Waiting, "the Job is suspended (spec.suspend), so that it has no pods"
			r.help("The queueing controller that suspended it resumes it. By hand:",
				kubectl("patch", "job", key, "--type=merge", "-p", `'{"spec":{"suspend":false}}'`))
			return r, nil
		}
		if len(members) == 0 && !finishedJob(job.Status.Conditions) {
			r.State, r.Summary = Waiting, "the Job has no pods"
			if message := e.lastWarning(key.Namespace, key.Name); message != "" {
				r.Summary += "; the last event says: " + message
			}
			r.help("The Job controller creates pods. Its events say why it does not.", kubectl("describe", "job", key))
			return r, nil
		}
		return r, e.podsState(r, members, unit)
	}
	return nil, notFound("Job", key, e.snap.Objects.Jobs)
}

func finishedJob(conditions []batchv1.JobCondition) bool {
	for _, c := range conditions {
		if (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}
