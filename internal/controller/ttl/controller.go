package ttl

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// jobCache is the cache of Jobs.
type jobCache interface {
	Get(namespace, name string) (*batch.Job, bool)
}

// jobServer reads Jobs from the API and deletes them.
type jobServer interface {
	LiveJob(ctx context.Context, namespace, name string) (*batch.Job, error)
	// DeleteJob deletes the Job after its dependents, with the UID and version that were read.
	DeleteJob(ctx context.Context, job *batch.Job) error
}

// Controller deletes finished Jobs whose time to live has passed.
type Controller struct {
	jobs   jobCache
	server jobServer
	clock  clock.PassiveClock
	queue  reconciler.Queue[types.NamespacedName]
	run    func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile deletes the Job if its time to live has passed, and requeues it otherwise.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	job, ok := c.jobs.Get(key.Namespace, key.Name)
	if !ok || !c.isOver(job) {
		return nil
	}
	live, err := c.server.LiveJob(ctx, key.Namespace, key.Name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("job %s: %w", key, err)
	}
	if !c.isOver(live) {
		return nil
	}
	if err := c.server.DeleteJob(ctx, live); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete job %s: %w", key, err)
	}
	return nil
}

// isOver reports whether the Job must be deleted now. If that is later, it is requeued.
func (c *Controller) isOver(job *batch.Job) bool {
	at, ok := Expiry(job)
	if !ok {
		return false
	}
	left := at.Sub(c.clock.Now())
	if left > 0 {
		c.queue.AddAfter(reconciler.KeyOf(job), left)
	}
	return left <= 0
}

// onJob handles a change in the cache of Jobs.
func (c *Controller) onJob(_, after *batch.Job) {
	if after == nil {
		return
	}
	if _, ok := Expiry(after); ok {
		c.queue.Add(reconciler.KeyOf(after))
	}
}
