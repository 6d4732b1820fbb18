package cronjob

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the CronJobs in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	cronJobs, cached := inf.CronJobs(), inf.Jobs()
	if err := cached.AddIndex(ownership.Index, ownership.Keys[*batch.Job]); err != nil {
		return nil, err
	}
	now := clock.RealClock{}
	c := &Controller{
		cronJobs: cronJobs, jobs: cached, server: objects.On(set.CronJobs),
		writeJob: jobs{objects.On(set.Jobs), set}, events: events, clock: now,
		statuses: newStatuses(now).Follow(cronJobs.Reached),
	}
	runner := reconciler.New("cronjob", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	cronJobs.OnChange(c.onCronJob)
	cached.OnChange(c.onJob)
	return c, nil
}

// jobs reads and writes Jobs with a client.Set.
type jobs struct {
	objects.Server[*batch.Job, *batch.JobList]
	set *client.Set
}

// DeleteAll implements jobServer.
func (j jobs) DeleteAll(ctx context.Context, job corev1.ObjectReference) error {
	background := metav1.DeletePropagationBackground
	return j.set.Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(job.UID)), PropagationPolicy: &background,
	})
}
