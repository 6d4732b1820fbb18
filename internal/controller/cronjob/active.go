package cronjob

import (
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

// follow brings status.active and status.lastSuccessfulTime up to the state of the Jobs.
func (p *Plan) follow(g Gathered) {
	for _, job := range g.Jobs {
		end, finished := job.Finished()
		switch active := isActive(p.Status.Active, job.UID); {
		case finished:
			if active {
				p.Status.Active = withoutJob(p.Status.Active, job.UID)
				p.note("SawCompletedJob", "Saw completed job: %s, condition: %v", job.Name, end.Type)
			}
			if end.Type == batchv1.JobComplete {
				p.recordSuccess(job)
			}
		case !active:
			p.warn("UnexpectedJob", "Saw a job that the controller did not create or forgot: %s", job.Name)
		}
	}
	for _, ref := range slices.Clone(p.Status.Active) {
		if g.Missing[ref.UID] {
			p.note("MissingJob", "Active job went missing: %v", ref.Name)
			p.Status.Active = withoutJob(p.Status.Active, ref.UID)
		}
	}
}

// recordSuccess records when the last Job succeeded.
func (p *Plan) recordSuccess(job *batch.Job) {
	last, end := p.Status.LastSuccessfulTime, job.Status.CompletionTime
	if end != nil && (last == nil || end.After(last.Time)) {
		p.Status.LastSuccessfulTime = end.DeepCopy()
	}
}

func isActive(active []corev1.ObjectReference, job types.UID) bool {
	return slices.ContainsFunc(active, func(ref corev1.ObjectReference) bool { return ref.UID == job })
}

// withoutJob returns the references to other Jobs. It does not change active.
func withoutJob(active []corev1.ObjectReference, job types.UID) []corev1.ObjectReference {
	return slices.DeleteFunc(slices.Clone(active), func(ref corev1.ObjectReference) bool { return ref.UID == job })
}
