package job

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	batch "github.com/allot-dev/allot/api/batch/v1"
)

// No state is kept of a Job that is deleted during a pass.
func TestNothingIsKeptOfDeletedJob(t *testing.T) {
	w := newWorld()
	job := &batch.Job{ObjectMeta: metav1.ObjectMeta{Name: "j"}}
	job.Spec.Parallelism, job.Spec.Completions, job.Spec.BackoffLimit = ptr.To(int32(1)), ptr.To(
		int32(1),
	), ptr.To(int32(1))
	job.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"job": "j"}}
	job.Spec.Template.Labels = map[string]string{"job": "j"}
	w.stamp(&job.ObjectMeta)
	w.server.jobs["j"] = job
	passes := 0
	w.refuse = func(verb, name string) error {
		if verb != "status" {
			return nil
		}
		passes++
		delete(w.server.jobs, name)
		w.sync()
		return notFound("jobs", name)
	}
	w.sync()
	w.work()
	w.report(job, "too late")
	if passes != 1 || len(w.backoffs) > 0 || len(w.reportedReasons) > 0 {
		t.Errorf("after %d passes: %v, %v", passes, w.backoffs, w.reportedReasons)
	}
}
