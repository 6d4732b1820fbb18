package reconciler

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// Func brings the object with this key closer to its desired state. It is called again, with
// growing delay, until it returns nil. The object may no longer exist.
type Func[K comparable] func(ctx context.Context, key K) error

// Options are the options of a Runner. The zero value is valid.
type Options struct {
	// Workers is the number of keys that are reconciled concurrently. Default 4.
	Workers int
	// FirstRetry and LastRetry are the limits of the delay after an error, which doubles each time.
	// Defaults 5 ms and 30 s.
	FirstRetry, LastRetry time.Duration
	// Ready returns when reconciling can begin, for example when caches are filled. Its error ends
	// Run. By default, Run begins immediately.
	Ready func(context.Context) error
	// Clock is used for delayed keys. Default: the wall clock.
	Clock clock.WithTicker
}

// Lanes returns the lane for a key that is added. It must not add keys itself.
type Lanes[K comparable] func(key K) Lane

func (o Options) withDefaults() Options {
	if o.Workers <= 0 {
		o.Workers = 4
	}
	if o.FirstRetry <= 0 {
		o.FirstRetry = 5 * time.Millisecond
	}
	if o.LastRetry <= 0 {
		o.LastRetry = 30 * time.Second
	}
	if o.Ready == nil {
		o.Ready = func(context.Context) error { return nil }
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// Runner is a queue of keys with workers that reconcile them. Its methods are safe for concurrent
// use, and Add and AddAfter may be called before Run.
type Runner[K comparable] struct {
	name      string
	reconcile Func[K]
	workers   int
	ready     func(context.Context) error
	queue     workqueue.TypedRateLimitingInterface[K]
}

// New returns a Runner that calls reconcile. The name appears in log lines.
func New[K comparable](name string, reconcile Func[K], opts Options) *Runner[K] {
	return NewWithLanes(name, reconcile, nil, opts)
}

// NewWithLanes returns a Runner with lanes. Without lanes, keys are in order of arrival.
func NewWithLanes[K comparable](name string, reconcile Func[K], of Lanes[K], opts Options) *Runner[K] {
	opts = opts.withDefaults()
	queue := workqueue.TypedQueueConfig[K]{Name: name, Clock: opts.Clock}
	if of != nil {
		queue.Queue = newLanes(of, opts.Clock)
	}
	limiter := workqueue.NewTypedItemExponentialFailureRateLimiter[K](opts.FirstRetry, opts.LastRetry)
	return &Runner[K]{
		name:      name,
		reconcile: reconcile,
		workers:   opts.Workers,
		ready:     opts.Ready,
		queue: workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[K]{
			Name:  name,
			Clock: opts.Clock,
			DelayingQueue: workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[K]{
				Name: name, Clock: opts.Clock, Queue: workqueue.NewTypedWithConfig(queue),
			}),
		}),
	}
}

// Add enqueues a key.
func (r *Runner[K]) Add(key K) { r.queue.Add(key) }

// AddAfter enqueues a key after a delay. Of several delays for one key, the earliest counts.
func (r *Runner[K]) AddAfter(key K, d time.Duration) { r.queue.AddAfter(key, d) }

// Len returns the number of keys that wait for a worker. Delayed keys do not count.
func (r *Runner[K]) Len() int { return r.queue.Len() }

// Run reconciles until ctx is done and all workers have returned. A Runner runs once.
func (r *Runner[K]) Run(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		r.queue.ShutDown() // it runs goroutines
		return fmt.Errorf("%s: %w", r.name, err)
	}
	ctx = klog.NewContext(ctx, klog.FromContext(ctx).WithName(r.name))
	var workers sync.WaitGroup
	for range r.workers {
		workers.Go(func() {
			for r.next(ctx) {
			}
		})
	}
	<-ctx.Done()
	r.queue.ShutDown()
	workers.Wait()
	return nil
}

// next reconciles one key. It returns false after shutdown.
func (r *Runner[K]) next(ctx context.Context) bool {
	key, quit := r.queue.Get()
	if quit {
		return false
	}
	defer r.queue.Done(key)
	if ctx.Err() != nil {
		return true // empty the queue without reconciling
	}
	err := r.guarded(ctx, key)
	switch {
	case err == nil:
		r.queue.Forget(key)
	case ctx.Err() != nil:
	default:
		r.report(ctx, key, err)
		r.queue.AddRateLimited(key)
	}
	return true
}

// guarded turns a panic into an error: one broken object must not stop the process that serves all
// others.
func (r *Runner[K]) guarded(ctx context.Context, key K) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return r.reconcile(ctx, key)
}

// report logs an error. Conflicts are expected with optimistic writes and are not logged, and
// neither are creations in a namespace that is being terminated: the object will be deleted as
// well.
func (r *Runner[K]) report(ctx context.Context, key K, err error) {
	logger := klog.FromContext(ctx)
	if apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		logger.V(4).Info("trying again", "key", key, "err", err)
		return
	}
	if r.queue.NumRequeues(key) < 2 {
		// Most first errors are races with a cache that is behind.
		logger.V(2).Info("trying again", "key", key, "err", err)
		return
	}
	logger.Error(err, "reconcile", "key", key, "attempt", r.queue.NumRequeues(key)+1)
}

// KeyOf returns the key of an object in a Runner[types.NamespacedName].
func KeyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
