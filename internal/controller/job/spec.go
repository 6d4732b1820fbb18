package job

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

// Accessors for a Job's spec, with the defaults of the server for missing fields.

const defaultBackoffLimit = 6

func parallelism(job *batch.Job) int { return int(ptr.Deref(job.Spec.Parallelism, 1)) }

// completions returns the number of pods that must succeed. ok is false if one success is enough
// for the Job to end when its other pods end.
func completions(job *batch.Job) (count int, ok bool) {
	if job.Spec.Completions == nil {
		return 0, false
	}
	return int(*job.Spec.Completions), true
}

func backoffLimit(job *batch.Job) int {
	return int(ptr.Deref(job.Spec.BackoffLimit, defaultBackoffLimit))
}

func isIndexed(job *batch.Job) bool {
	return ptr.Deref(job.Spec.CompletionMode, batchv1.NonIndexedCompletion) == batchv1.IndexedCompletion
}

func isSuspended(job *batch.Job) bool { return ptr.Deref(job.Spec.Suspend, false) }

// limitsIndexes reports whether failures are limited per index.
func limitsIndexes(job *batch.Job) bool {
	return isIndexed(job) && job.Spec.BackoffLimitPerIndex != nil
}

// waitsForEnd reports whether a terminating pod is replaced and counted only when it has ended.
func waitsForEnd(job *batch.Job) bool {
	return ptr.Deref(job.Spec.PodReplacementPolicy, batchv1.TerminatingOrFailed) == batchv1.Failed
}

// isManagedElsewhere reports whether another controller runs the Job.
func isManagedElsewhere(job *batch.Job) bool {
	return ptr.Deref(job.Spec.ManagedBy, batchv1.JobControllerName) != batchv1.JobControllerName
}

// trueCondition returns the condition of that type if it is True.
func trueCondition(conditions []batchv1.JobCondition, t batchv1.JobConditionType) (batchv1.JobCondition, bool) {
	for _, c := range conditions {
		if c.Type == t && c.Status == corev1.ConditionTrue {
			return c, true
		}
	}
	return batchv1.JobCondition{}, false
}
