package devicetaint

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// reasonEviction is upstream's reason for events on pods.
const reasonEviction = "DeviceTaintManagerEviction"

// reasonDisruption is upstream's reason of the condition DisruptionTarget.
const reasonDisruption = "DeletionByDeviceTaintManager"

// Options tune a Controller; the zero value is good.
type Options struct {
	// PerSecond is how many pods are deleted in a second. Default 100.
	PerSecond int
	// MinLife is how long a pod lives whose tolerations were over before it was scheduled. Default 10 s.
	MinLife time.Duration
	// StatusPeriod is how long the status of a rule stands at least. Default 10 s.
	StatusPeriod time.Duration
	// Clock is the time. Default: the wall clock.
	Clock clock.WithTicker
}

func (o Options) withDefaults() Options {
	if o.PerSecond <= 0 {
		o.PerSecond = 100
	}
	if o.MinLife <= 0 {
		o.MinLife = 10 * time.Second
	}
	if o.StatusPeriod <= 0 {
		o.StatusPeriod = 10 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// indexed is a cache that is read through an index too.
type indexed[T any] interface {
	Get(namespace, name string) (T, bool)
	ByIndex(index, key string) []T
	List() []T
}

// caches are what the controller reads. Pods must have claims.PodIndex, Claims claimsByPool and Slices slicesByPool.
type caches struct {
	pods   indexed[*core.Pod]
	claims indexed[*resource.ResourceClaim]
	slices indexed[*resourcev1.ResourceSlice]
	rules  indexed[*resourcev1.DeviceTaintRule]
}

// server is what the controller writes to. All writes name the object's UID.
type server interface {
	MarkDisrupted(ctx context.Context, pod *core.Pod, condition corev1.PodCondition) error
	DeletePod(ctx context.Context, pod *core.Pod) error
	UpdateRuleStatus(ctx context.Context, rule *resourcev1.DeviceTaintRule) error
}

// limiter delays deletions.
type limiter interface {
	Wait(ctx context.Context) error
}

// Controller evicts pods and reports on rules.
type Controller struct {
	cache   caches
	server  server
	limit   limiter
	events  reconciler.Recorder
	opts    Options
	pods    reconciler.Queue[types.NamespacedName]
	reports reconciler.Queue[string] // names of rules
	run     func(context.Context) error

	mu      sync.Mutex // guards the fields below
	pending map[types.NamespacedName]pending
	evicted map[types.UID]bool // pods that were deleted, until the cache shows that they are gone
	counts  map[types.UID]int  // evicted pods, by rule
}

// pending is a pod that is to be evicted.
type pending struct {
	pod     types.UID
	verdict verdict
	warned  bool
}

func newController(cache caches, server server, limit limiter, events reconciler.Recorder, opts Options) *Controller {
	return &Controller{
		cache: cache, server: server, limit: limit, events: events, opts: opts,
		pending: map[types.NamespacedName]pending{}, evicted: map[types.UID]bool{}, counts: map[types.UID]int{},
	}
}

// Run evicts until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// reconcilePod evicts a pod if that is due, and sees to it that it is looked at when it will be.
func (c *Controller) reconcilePod(ctx context.Context, key types.NamespacedName) error {
	pod, ok := c.cache.pods.Get(key.Namespace, key.Name)
	if !ok || !evictable(pod) {
		c.forget(key)
		return nil
	}
	if c.wasEvicted(pod) {
		return nil
	}
	v, ok := judge(pod, c.ends(pod), c.opts.MinLife)
	if !ok {
		if c.forget(key) {
			c.events.Eventf(pod, corev1.EventTypeNormal, reasonEviction, "no device is tainted any more: not evicted")
		}
		return nil
	}
	first := c.note(key, pod, v)
	if wait := v.at.Sub(c.opts.Clock.Now()); wait > 0 {
		if first && v.expired {
			c.events.Eventf(pod, corev1.EventTypeWarning, reasonEviction,
				"tolerationSeconds were over before the pod was scheduled: it is evicted in %s, because of %s", wait.Round(time.Second), v.causes)
		}
		c.pods.AddAfter(key, wait)
		return nil
	}
	return c.evict(ctx, key, pod, v)
}

// ends gives each end that a taint puts to the pod's use of a device.
func (c *Controller) ends(pod *core.Pod) []end {
	var out []end
	for _, name := range claims.Uses(pod) {
		claim, ok := c.cache.claims.Get(pod.Namespace, name)
		if !ok || !uses(pod, claim) {
			continue
		}
		for i := range claim.Status.Allocation.Devices.Results {
			result := &claim.Status.Allocation.Devices.Results[i]
			for _, t := range c.taints(deviceOf(result)) {
				if e, ok := endOf(t, result.Tolerations); ok {
					out = append(out, e)
				}
			}
		}
	}
	return out
}

// taints gives the NoExecute taints of a device.
func (c *Controller) taints(d device) []taint {
	out := published(c.cache.slices.ByIndex(slicesByPool, poolKey(d.driver, d.pool)), d)
	for _, rule := range c.cache.rules.List() {
		if evicts(rule) && selects(rule, d) {
			out = append(out, taintOf(rule))
		}
	}
	return out
}

// evict marks the pod and deletes it, when its turn has come.
func (c *Controller) evict(ctx context.Context, key types.NamespacedName, pod *core.Pod, v verdict) error {
	if err := c.limit.Wait(ctx); err != nil {
		return err
	}
	condition := corev1.PodCondition{
		Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: reasonDisruption,
		Message: "evicted because of a NoExecute taint: " + v.causes,
	}
	err := c.server.MarkDisrupted(ctx, pod, condition)
	if err == nil {
		err = c.server.DeletePod(ctx, pod)
	}
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err): // gone, or another of this name
		c.forget(key)
		return nil
	case err != nil:
		return fmt.Errorf("evict pod %s: %w", key, err)
	}
	c.events.Eventf(pod, corev1.EventTypeNormal, reasonEviction, "evicted because of a NoExecute taint: %s", v.causes)
	c.count(key, pod, v)
	return nil
}

func (c *Controller) wasEvicted(pod *core.Pod) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.evicted[pod.UID]
}

// note keeps a verdict, and tells whether the pod had none that warned of it.
func (c *Controller) note(key types.NamespacedName, pod *core.Pod, v verdict) bool {
	c.mu.Lock()
	old := c.pending[key]
	if old.pod != pod.UID {
		old = pending{}
	}
	c.pending[key] = pending{pod: pod.UID, verdict: v, warned: v.expired}
	c.mu.Unlock()
	c.report(old.verdict, v)
	return !old.warned
}

// forget drops the verdict on a pod, and tells whether there was one.
func (c *Controller) forget(key types.NamespacedName) bool {
	c.mu.Lock()
	old, known := c.pending[key]
	delete(c.pending, key)
	c.mu.Unlock()
	c.report(old.verdict)
	return known
}

// count counts an eviction.
func (c *Controller) count(key types.NamespacedName, pod *core.Pod, v verdict) {
	c.mu.Lock()
	delete(c.pending, key)
	c.evicted[pod.UID] = true
	for rule := range v.rules {
		c.counts[rule]++
	}
	c.mu.Unlock()
	c.report(v)
}
