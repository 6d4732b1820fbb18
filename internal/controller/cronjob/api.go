package cronjob

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the CronJobs in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	cronJobs, jobs := inf.CronJobs(), inf.Jobs()
	if err := jobs.AddIndex(ownership.Index, ownership.Keys[*batch.Job]); err != nil {
		return nil, err
	}
	api, now := server{set}, clock.RealClock{}
	c := &Controller{
		cronJobs: cronJobs, jobs: jobs, server: api, writeJob: api, events: events, clock: now,
		statuses: newStatuses(now).Follow(cronJobs.Reached),
	}
	runner := reconciler.New("cronjob", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	cronJobs.OnChange(c.onCronJob)
	jobs.OnChange(c.onJob)
	return c, nil
}

// server implements the servers with a client.Set.
type server struct{ set *client.Set }

func (s server) LiveCronJob(ctx context.Context, namespace, name string) (*batch.CronJob, error) {
	return s.set.CronJobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) UpdateCronJobStatus(ctx context.Context, c *batch.CronJob) (*batch.CronJob, error) {
	return s.set.CronJobs(c.Namespace).UpdateStatus(ctx, c, metav1.UpdateOptions{})
}

func (s server) LiveJob(ctx context.Context, namespace, name string) (*batch.Job, error) {
	return s.set.Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) CreateJob(ctx context.Context, job *batch.Job) (*batch.Job, error) {
	return s.set.Jobs(job.Namespace).Create(ctx, job, metav1.CreateOptions{})
}

func (s server) DeleteJob(ctx context.Context, namespace, name string, uid types.UID) error {
	background := metav1.DeletePropagationBackground
	return s.set.Jobs(namespace).Delete(ctx, name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(uid)), PropagationPolicy: &background,
	})
}
