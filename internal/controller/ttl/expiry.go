package ttl

import (
	"time"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

// Expiry returns the time at which the Job must be deleted. ok is false if it is kept, or is being
// deleted already.
func Expiry(job *batch.Job) (at time.Time, ok bool) {
	if job.Spec.TTLSecondsAfterFinished == nil || job.DeletionTimestamp != nil {
		return time.Time{}, false
	}
	end, finished := job.Finished()
	if !finished || end.LastTransitionTime.IsZero() {
		return time.Time{}, false
	}
	return end.LastTransitionTime.Add(time.Duration(*job.Spec.TTLSecondsAfterFinished) * time.Second), true
}
