package cronjob

import (
	"cmp"
	"slices"

	batchv1 "k8s.io/api/batch/v1"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/replica"
)

// surplus returns the ended Jobs that the history does not keep: those that started first. Jobs
// that are being deleted do not count.
func surplus(c *batch.CronJob, jobs []*batch.Job) []*batch.Job {
	ended := map[batchv1.JobConditionType][]*batch.Job{}
	for _, job := range jobs {
		if end, finished := job.Finished(); finished && job.DeletionTimestamp == nil {
			ended[end.Type] = append(ended[end.Type], job)
		}
	}
	return append(
		overLimit(ended[batchv1.JobComplete], c.Spec.SuccessfulJobsHistoryLimit),
		overLimit(ended[batchv1.JobFailed], c.Spec.FailedJobsHistoryLimit)...)
}

// overLimit returns the oldest Jobs beyond a limit; nil means no limit.
func overLimit(jobs []*batch.Job, limit *int32) []*batch.Job {
	if limit == nil || len(jobs) <= int(*limit) {
		return nil
	}
	slices.SortStableFunc(jobs, func(a, b *batch.Job) int {
		started, other := a.Status.StartTime, b.Status.StartTime
		if started == nil || other == nil {
			return cmp.Or(replica.FalseFirst(started == nil, other == nil), cmp.Compare(a.Name, b.Name))
		}
		return cmp.Or(started.Compare(other.Time), cmp.Compare(a.Name, b.Name))
	})
	return jobs[:len(jobs)-int(*limit)]
}
