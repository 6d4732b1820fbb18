package defaults

import (
	"math"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

// Job sets the defaults of a Job: parallelism 1, and completions 1 if parallelism is not set either;
// the backoff limits, the pod replacement policy and the pod template. A Job without labels gets the
// labels of its template. Both share one map, as in Kubernetes, so that labels that are added to the
// template at creation are also labels of the Job.
func Job(job *batch.Job) {
	spec := &job.Spec
	if spec.Parallelism == nil {
		orNew(&spec.Completions, 1)
	}
	orNew(&spec.Parallelism, 1)
	if spec.BackoffLimitPerIndex != nil {
		orNew(&spec.BackoffLimit, math.MaxInt32)
	}
	orNew(&spec.BackoffLimit, 6)
	if len(job.Labels) == 0 && len(spec.Template.Labels) > 0 {
		job.Labels = spec.Template.Labels
	}
	orNew(&spec.CompletionMode, batchv1.NonIndexedCompletion)
	orNew(&spec.Suspend, false)
	orNew(&spec.ManualSelector, false)
	if spec.PodFailurePolicy != nil {
		orNew(&spec.PodReplacementPolicy, batchv1.Failed)
	}
	orNew(&spec.PodReplacementPolicy, batchv1.TerminatingOrFailed)
	podFailurePolicy(spec.PodFailurePolicy)
	podSpec(&spec.Template.Spec)
}

// CronJob sets the concurrency policy and the limits of the history. Of its Jobs, only the parts
// are completed that a Job has in lists and in its pod template; the Jobs get the rest.
func CronJob(c *batch.CronJob) {
	spec := &c.Spec
	orElse(&spec.ConcurrencyPolicy, batchv1.AllowConcurrent)
	orNew(&spec.Suspend, false)
	orNew(&spec.SuccessfulJobsHistoryLimit, 3)
	orNew(&spec.FailedJobsHistoryLimit, 1)
	podFailurePolicy(spec.JobTemplate.Spec.PodFailurePolicy)
	podSpec(&spec.JobTemplate.Spec.Template.Spec)
}

func podFailurePolicy(policy *batchv1.PodFailurePolicy) {
	if policy == nil {
		return
	}
	for i := range policy.Rules {
		patterns := policy.Rules[i].OnPodConditions
		for j := range patterns {
			orElse(&patterns[j].Status, corev1.ConditionTrue)
		}
	}
}
