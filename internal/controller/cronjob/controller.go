package cronjob

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// jobServer reads Jobs from the API and writes them.
type jobServer interface {
	objects.Reader[*batch.Job]
	objects.Creator[*batch.Job]
	// DeleteAll deletes the Job with this UID and its pods.
	DeleteAll(ctx context.Context, job corev1.ObjectReference) error
}

// Controller reconciles all CronJobs.
type Controller struct {
	cronJobs objects.Getter[*batch.CronJob]
	jobs     objects.Index[*batch.Job]
	server   objects.Owner[*batch.CronJob]
	writeJob jobServer
	events   reconciler.Recorder
	clock    clock.PassiveClock
	queue    reconciler.Queue[types.NamespacedName]
	run      func(context.Context) error
	statuses *expectations.Tracker // own writes of statuses, by version
}

// newStatuses returns a Tracker of written statuses. A CronJob exists before and after its status
// is written, so that only the version shows the write.
func newStatuses(clock clock.PassiveClock) *expectations.Tracker {
	return expectations.NewTracker(func(string, string, types.UID) (bool, bool) { return false, false },
		clock, workload.ExpectationLife)
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile makes one pass over a CronJob.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	cronJob, ok := c.cronJobs.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	if shown, wait := c.statuses.Satisfied(cronJob.UID); !shown {
		c.queue.AddAfter(key, wait)
		return nil
	}
	gathered, err := c.gather(ctx, cronJob)
	if err != nil || gathered.CronJob == nil {
		return err
	}
	plan := Decide(gathered)
	for _, e := range plan.Events {
		c.events.Eventf(gathered.CronJob, e.Type, e.Reason, "%s", e.Message)
	}
	failure := c.carryOut(ctx, gathered.CronJob, &plan)
	if err := c.writeStatus(ctx, gathered.CronJob, plan.Status); err != nil {
		return fmt.Errorf("cronjob %s: %w", key, err)
	}
	if plan.Again > 0 {
		c.queue.AddAfter(key, plan.Again)
	}
	if failure != nil {
		return fmt.Errorf("cronjob %s: %w", key, failure)
	}
	return nil
}

// gather returns what Decide depends on. Its CronJob is nil if there is none any more.
func (c *Controller) gather(ctx context.Context, cached *batch.CronJob) (Gathered, error) {
	jobs := slices.Clone(c.jobs.ByIndex(ownership.Index, string(cached.UID)))
	slices.SortFunc(jobs, func(a, b *batch.Job) int { return cmp.Compare(a.Name, b.Name) })
	g := Gathered{CronJob: cached, Jobs: jobs, Missing: map[types.UID]bool{}, Now: c.clock.Now()}
	if slices.ContainsFunc(jobs, func(job *batch.Job) bool { return isUnknown(cached, job) }) {
		// The cache of Jobs may be ahead of that of CronJobs.
		live, err := c.server.Live(ctx, cached.Namespace, cached.Name)
		if apierrors.IsNotFound(err) || err == nil && live.UID != cached.UID {
			return Gathered{}, nil
		}
		if err != nil {
			return Gathered{}, err
		}
		g.CronJob = live
	}
	for _, ref := range g.CronJob.Status.Active {
		if slices.ContainsFunc(jobs, func(job *batch.Job) bool { return job.UID == ref.UID }) {
			continue
		}
		live, err := c.writeJob.Live(ctx, ref.Namespace, ref.Name)
		if err != nil && !apierrors.IsNotFound(err) {
			return Gathered{}, fmt.Errorf("job %s: %w", ref.Name, err)
		}
		g.Missing[ref.UID] = err != nil || live.UID != ref.UID
	}
	return g, nil
}

// isUnknown reports whether an unfinished Job of the CronJob is not in its status.
func isUnknown(c *batch.CronJob, job *batch.Job) bool {
	_, finished := job.Finished()
	return !finished && !isActive(c.Status.Active, job.UID)
}

// carryOut deletes and creates Jobs, and brings the status of the plan up to what was done.
func (c *Controller) carryOut(ctx context.Context, cronJob *batch.CronJob, plan *Plan) error {
	var failures []error
	for _, job := range plan.Delete {
		failures = append(failures, c.delete(ctx, cronJob, reference(job)))
	}
	for _, ref := range plan.Replace {
		if err := c.delete(ctx, cronJob, ref); err != nil {
			return errors.Join(append(failures, err)...)
		}
		plan.Status.Active = withoutJob(plan.Status.Active, ref.UID)
	}
	if plan.Create != nil {
		job, err := c.create(ctx, cronJob, plan.Create)
		if err == nil && job != nil && !isActive(plan.Status.Active, job.UID) {
			plan.Status.Active = append(plan.Status.Active, reference(job))
			plan.Status.LastScheduleTime = &metav1.Time{Time: plan.Time}
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

func (c *Controller) delete(ctx context.Context, cronJob *batch.CronJob, job corev1.ObjectReference) error {
	switch err := c.writeJob.DeleteAll(ctx, job); {
	case apierrors.IsNotFound(err) || apierrors.IsConflict(err): // it is another Job by now
		return nil
	case err != nil:
		c.events.Eventf(cronJob, corev1.EventTypeWarning, "FailedDelete", "Deleted job: %v", err)
		return fmt.Errorf("delete job %s: %w", job.Name, err)
	}
	c.events.Eventf(cronJob, corev1.EventTypeNormal, "SuccessfulDelete", "Deleted job %v", job.Name)
	return nil
}

// create creates a Job, or returns the Job that an earlier pass created without recording it in the
// status. It returns nil if the name is taken by a Job of something else.
func (c *Controller) create(ctx context.Context, cronJob *batch.CronJob, job *batch.Job) (*batch.Job, error) {
	created, err := c.writeJob.Create(ctx, job)
	switch {
	case err == nil:
		c.events.Eventf(cronJob, corev1.EventTypeNormal, "SuccessfulCreate", "Created job %v", created.Name)
		return created, nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return nil, err
	case apierrors.IsAlreadyExists(err):
		live, err := c.writeJob.Live(ctx, job.Namespace, job.Name)
		if err != nil {
			return nil, fmt.Errorf("job %s exists, but: %w", job.Name, err)
		}
		if !metav1.IsControlledBy(live, cronJob) {
			return nil, nil
		}
		return live, nil
	}
	c.events.Eventf(cronJob, corev1.EventTypeWarning, "FailedCreate", "Error creating job: %v", err)
	return nil, fmt.Errorf("create job %s: %w", job.Name, err)
}

func (c *Controller) writeStatus(ctx context.Context, cronJob *batch.CronJob, status batchv1.CronJobStatus) error {
	if equality.Semantic.DeepEqual(cronJob.Status, status) {
		return nil
	}
	updated := *cronJob // other fields of the cached object are shared and only read
	updated.Status = status
	written, err := c.server.UpdateStatus(ctx, &updated)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("status: %w", err)
	}
	c.statuses.Created(written.UID, written)
	return nil
}
