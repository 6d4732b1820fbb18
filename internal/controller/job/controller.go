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
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

var kind = batchv1.SchemeGroupVersion.WithKind("Job")

// gatherWindow is how long a pod's event waits for others before the Job is looked at: pods that end together then cost a
// few status writes, not one each.
const gatherWindow = 50 * time.Millisecond

// Key is what is reconciled: a Job, or a pod that may have no Job any more.
type Key struct {
	types.NamespacedName
	Pod bool
}

// podCache is the cache of pods; it must have ownership.Index.
type podCache interface {
	Get(namespace, name string) (*core.Pod, bool)
	ByIndex(index, key string) []*core.Pod
}

// jobCache is the cache of Jobs.
type jobCache interface {
	Get(namespace, name string) (*batch.Job, bool)
	InNamespace(namespace string) []*batch.Job
}

// workloadCache is the cache of Workloads; it must have workloadIndex.
type workloadCache interface {
	Get(namespace, name string) (*scheduling.Workload, bool)
	ByIndex(index, key string) []*scheduling.Workload
}

// groupCache is the cache of PodGroups; it must have ownership.Index.
type groupCache interface {
	Get(namespace, name string) (*scheduling.PodGroup, bool)
	ByIndex(index, key string) []*scheduling.PodGroup
}

// Caches are what the controller reads.
type Caches struct {
	Jobs      jobCache
	Pods      podCache
	Workloads workloadCache
	Groups    groupCache
}

// podWriter changes pods.
type podWriter interface {
	CreatePod(ctx context.Context, pod *core.Pod) (*core.Pod, error)
	PatchPod(ctx context.Context, pod *core.Pod, strategicMerge []byte) error
	// DeletePod deletes this very pod, gracefully.
	DeletePod(ctx context.Context, pod *core.Pod) error
}

// jobWriter reads Jobs past the cache and writes their status.
type jobWriter interface {
	LiveJob(ctx context.Context, namespace, name string) (*batch.Job, error)
	UpdateJobStatus(ctx context.Context, job *batch.Job) (*batch.Job, error)
}

// workloadWriter changes Workloads.
type workloadWriter interface {
	CreateWorkload(ctx context.Context, workload *scheduling.Workload) (*scheduling.Workload, error)
	// DeleteWorkload deletes this very Workload.
	DeleteWorkload(ctx context.Context, workload *scheduling.Workload) error
}

// groupWriter changes PodGroups.
type groupWriter interface {
	CreatePodGroup(ctx context.Context, group *scheduling.PodGroup) (*scheduling.PodGroup, error)
	ResizePodGroup(ctx context.Context, group *scheduling.PodGroup, minCount int32) error
	// DeletePodGroup deletes this very PodGroup.
	DeletePodGroup(ctx context.Context, group *scheduling.PodGroup) error
}

// Server is what the controller writes to.
type Server struct {
	Pods      podWriter
	Jobs      jobWriter
	Workloads workloadWriter
	Groups    groupWriter
}

// Controller reconciles all Jobs.
type Controller struct {
	Caches
	write  Server
	events reconciler.Recorder
	clock  clock.PassiveClock
	queue  reconciler.Queue[Key]
	run    func(context.Context) error
	own    *writes
	alone  bool // the server has no PodGroups: pods are in none

	mu       sync.Mutex
	backoffs map[types.UID]Backoff // of Jobs that run
	told     map[types.UID]string  // why they have no PodGroup yet
}

func newController(caches Caches, write Server, events reconciler.Recorder, clock clock.PassiveClock) *Controller {
	return &Controller{
		Caches: caches, write: write, events: events, clock: clock,
		own: newWrites(caches, clock), backoffs: map[types.UID]Backoff{}, told: map[types.UID]string{},
	}
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile makes one pass over a Job, or frees a pod without one.
func (c *Controller) Reconcile(ctx context.Context, key Key) error {
	if key.Pod {
		return c.free(ctx, key)
	}
	job, ok := c.Jobs.Get(key.Namespace, key.Name)
	if !ok || isManagedElsewhere(job) {
		return nil
	}
	if wait, settled := c.own.settled(job.UID); !settled {
		c.queue.AddAfter(key, wait)
		return nil
	}
	if _, finished := job.Finished(); finished {
		c.forget(job.UID)
		_, err := c.group(ctx, job, Plan{Idle: true})
		return err
	}
	selector, err := metav1.LabelSelectorAsSelector(job.Spec.Selector)
	if err != nil {
		return nil // the server's validation does not let such a selector in
	}
	pods, err := c.claim(ctx, job, selector)
	if err != nil {
		return err
	}
	return c.pass(ctx, job, pods)
}

// pass decides and carries out. What is decided about pods that could not be created or deleted is tried again, and the status
// is written all the same.
func (c *Controller) pass(ctx context.Context, job *batch.Job, pods []*core.Pod) error {
	plan := Decide(job, pods, c.backoff(job.UID, pods), c.clock.Now())
	step, failure := c.group(ctx, job, plan)
	if failure != nil || step.Wait {
		plan.Create = nil
		plan.Drop = appendNew(plan.Drop, step.Drop)
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

// appendNew adds the pods that are not in the list yet: a pod that is dropped twice would be counted twice.
func appendNew(list, more []*core.Pod) []*core.Pod {
	list = slices.Clip(list)
	for _, pod := range more {
		if !slices.Contains(list, pod) {
			list = append(list, pod)
		}
	}
	return list
}

// claim returns the pods that are the Job's, after adopting and releasing. Those that have just been adopted have the finalizer.
func (c *Controller) claim(ctx context.Context, job *batch.Job, selector labels.Selector) ([]*core.Pod, error) {
	claimer := ownership.Claimer[*batch.Job, *core.Pod]{
		Kind: kind, Cache: c.Pods, Live: c.write.Jobs.LiveJob, Patch: c.write.Pods.PatchPod,
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
	updated := *job // the cached object's other fields are shared and only read
	updated.Status = status
	written, err := c.write.Jobs.UpdateJobStatus(ctx, &updated)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("job %s/%s: status: %w", job.Namespace, job.Name, err)
	}
	c.own.status(written)
	return nil
}

// backoff is what is remembered of the Job's failures; after a restart, what can be seen of those that have been counted.
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

// exists says whether the cache has a Job. With c.mu held, nothing is remembered of one that has gone in the midst of a pass:
// the cache loses it before it is forgotten.
func (c *Controller) exists(job *batch.Job) bool {
	cached, ok := c.Jobs.Get(job.Namespace, job.Name)
	return ok && cached.UID == job.UID
}

// forget drops what is known of a Job that has ended or is gone.
func (c *Controller) forget(job types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.backoffs, job)
	delete(c.told, job)
}
