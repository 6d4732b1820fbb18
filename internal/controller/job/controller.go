package job

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/workload"
)

var kind = batchv1.SchemeGroupVersion.WithKind("Job")

// gatherWindow is the delay after an event of a pod, so that pods that end together cost a few
// status writes, not one each.
const gatherWindow = 50 * time.Millisecond

// Key identifies a Job, or a pod that may have no Job any more.
type Key struct {
	types.NamespacedName
	Pod bool
}

// jobCache is the cache of Jobs.
type jobCache interface {
	objects.Getter[*batch.Job]
	objects.Namespaced[*batch.Job]
}

// workloadCache is the cache of Workloads. It must have workloadIndex.
type workloadCache interface {
	objects.Getter[*scheduling.Workload]
	objects.Index[*scheduling.Workload]
}

// groupCache is the cache of PodGroups. It must have ownership.Index.
type groupCache interface {
	objects.Getter[*scheduling.PodGroup]
	objects.Index[*scheduling.PodGroup]
}

// Caches has the caches of the controller.
type Caches struct {
	Jobs      jobCache
	Pods      workload.PodCache
	Workloads workloadCache
	Groups    groupCache
}

// workloadWriter writes Workloads.
type workloadWriter interface {
	objects.Creator[*scheduling.Workload]
	objects.Deleter[*scheduling.Workload]
}

// groupWriter writes PodGroups.
type groupWriter interface {
	objects.Creator[*scheduling.PodGroup]
	objects.Deleter[*scheduling.PodGroup]
	// Resize sets the minimum number of pods of a gang.
	Resize(ctx context.Context, group *scheduling.PodGroup, minCount int32) error
}

// Server combines the writers of the controller.
type Server struct {
	Pods      workload.PodServer
	Jobs      objects.Owner[*batch.Job]
	Workloads workloadWriter
	Groups    groupWriter
}

// Controller reconciles all Jobs.
type Controller struct {
	Caches
	pods   *workload.Pods
	write  Server
	events reconciler.Recorder
	clock  clock.PassiveClock
	queue  reconciler.Queue[Key]
	run    func(context.Context) error
	own    *writes
	alone  bool // the server does not serve PodGroups

	mu              sync.Mutex
	backoffs        map[types.UID]Backoff // by UID of running Jobs
	reportedReasons map[types.UID]string  // reported reasons for a missing PodGroup
}

func newController(caches Caches, write Server, events reconciler.Recorder, clock clock.PassiveClock) *Controller {
	return &Controller{
		Caches: caches, write: write, events: events, clock: clock,
		pods: workload.NewPods(caches.Pods, write.Pods, events, clock), own: newWrites(caches, clock),
		backoffs: map[types.UID]Backoff{}, reportedReasons: map[types.UID]string{},
	}
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile makes one pass over a Job, or removes the finalizer from a pod without one.
func (c *Controller) Reconcile(ctx context.Context, key Key) error {
	if key.Pod {
		return c.free(ctx, key)
	}
	job, ok := c.Jobs.Get(key.Namespace, key.Name)
	if !ok || isManagedElsewhere(job) {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil //nolint:nilerr // validation rejects such a selector
	}
	settled, wait, err := c.settled(ctx, job, selector)
	if err != nil {
		return err
	}
	if !settled {
		c.queue.AddAfter(key, wait)
		return nil
	}
	if _, finished := job.Finished(); finished {
		c.forget(job.UID)
		_, err := c.group(ctx, job, Plan{Idle: true})
		return err
	}
	pods, err := c.claim(ctx, job, selector)
	if err != nil {
		return err
	}
	return c.pass(ctx, job, pods)
}

// settled reports whether the caches show all writes for the Job, and otherwise how long to wait.
func (c *Controller) settled(
	ctx context.Context, job *batch.Job, selector labels.Selector,
) (ok bool, wait time.Duration, err error) {
	ok, wait, err = c.pods.Settled(ctx, job, selector)
	if err != nil {
		return false, 0, fmt.Errorf("job %s/%s: %w", job.Namespace, job.Name, err)
	}
	left, others := c.own.settled(job.UID)
	return ok && others, max(wait, left), nil
}

// pass decides and carries out the decision. Failed creations and deletions are retried, and the
// status is written in any case.
func (c *Controller) pass(ctx context.Context, job *batch.Job, pods []*core.Pod) error {
	plan := Decide(job, pods, c.backoff(job.UID, pods), c.clock.Now())
	step, failure := c.group(ctx, job, plan)
	if failure != nil || step.Wait {
		plan.WaitFor(step)
	}
	outcome, err := c.changePods(ctx, job, plan, step.Group)
	if failure == nil {
		failure = err
	}
	if err := c.writeStatus(ctx, job, outcome.Status(plan)); err != nil {
		return err
	}
	c.remember(job, plan.Backoff)
	for _, e := range plan.Events {
		c.events.Eventf(job, e.Type, e.Reason, "%s", e.Message)
	}
	if plan.Again > 0 {
		c.queue.AddAfter(Key{NamespacedName: reconciler.KeyOf(job)}, plan.Again)
	}
	if err := c.release(ctx, job, plan.Release); err != nil {
		return err
	}
	if failure != nil {
		return fmt.Errorf("job %s/%s: %w", job.Namespace, job.Name, failure)
	}
	return nil
}

// claim returns the pods of the Job, after adopting and releasing. Adopted pods have the finalizer.
func (c *Controller) claim(ctx context.Context, job *batch.Job, selector labels.Selector) ([]*core.Pod, error) {
	claimer := ownership.Claimer[*batch.Job, *core.Pod]{
		Kind: kind, Cache: c.Pods, Live: c.write.Jobs.Live, Patch: c.pods.Patch,
		Finalizers: []string{batchv1.JobTrackingFinalizer},
	}
	pods, err := claimer.Claim(ctx, job, selector)
	if err != nil {
		return nil, fmt.Errorf("job %s/%s: pods: %w", job.Namespace, job.Name, err)
	}
	for i, pod := range pods {
		if !metav1.IsControlledBy(pod, job) && !isTracked(pod) {
			pods[i] = pod.DeepCopy()
			pods[i].Finalizers = append(pods[i].Finalizers, batchv1.JobTrackingFinalizer)
		}
	}
	return pods, nil
}

func (c *Controller) writeStatus(ctx context.Context, job *batch.Job, status batchv1.JobStatus) error {
	if equality.Semantic.DeepEqual(job.Status, status) {
		return nil
	}
	updated := *job // other fields of the cached object are shared and only read
	updated.Status = status
	written, err := c.write.Jobs.UpdateStatus(ctx, &updated)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("job %s/%s: status: %w", job.Namespace, job.Name, err)
	}
	c.own.status(written)
	return nil
}

// backoff returns the recorded failures of the Job or, after a restart, those visible in its
// counted pods.
func (c *Controller) backoff(job types.UID, pods []*core.Pod) Backoff {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known, ok := c.backoffs[job]; ok {
		return known
	}
	past := slices.DeleteFunc(slices.Clone(pods), func(pod *core.Pod) bool { return !pod.Finished() || isTracked(pod) })
	succeeded := slices.DeleteFunc(slices.Clone(past), func(pod *core.Pod) bool { return !hasSucceeded(pod) })
	return Backoff{}.After(succeeded, slices.DeleteFunc(past, hasSucceeded))
}

func (c *Controller) remember(job *batch.Job, b Backoff) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.exists(job) {
		c.backoffs[job.UID] = b
	}
}

// exists reports whether the cache has a Job. c.mu must be held, so that nothing is recorded for a
// Job deleted during a pass: the cache drops it before forget is called.
func (c *Controller) exists(job *batch.Job) bool {
	cached, ok := c.Jobs.Get(job.Namespace, job.Name)
	return ok && cached.UID == job.UID
}

// forget drops the state of a Job that has ended or was deleted.
func (c *Controller) forget(job types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.backoffs, job)
	delete(c.reportedReasons, job)
}
