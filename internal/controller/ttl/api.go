package ttl

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the Jobs in inf's cache. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers) *Controller {
	jobs := inf.Jobs()
	c := &Controller{jobs: jobs, server: server{set}, clock: clock.RealClock{}}
	runner := reconciler.New("ttl", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	jobs.OnChange(c.onJob)
	return c
}

type server struct{ set *client.Set }

func (s server) LiveJob(ctx context.Context, namespace, name string) (*batch.Job, error) {
	return s.set.Jobs(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s server) DeleteJob(ctx context.Context, job *batch.Job) error {
	policy := metav1.DeletePropagationForeground
	return s.set.Jobs(job.Namespace).Delete(ctx, job.Name, metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &job.UID, ResourceVersion: &job.ResourceVersion},
	})
}
