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

// Func brings the object named by key closer to what it should be. It is called
// again, later and later, until it returns nil. It must tolerate that the object
// is gone.
type Func[K comparable] func(ctx context.Context, key K) error

// Options tune a Runner; the zero value is good.
type Options struct {
	// Workers is the number of keys reconciled at once. Default 4.
	Workers int
	// FirstRetry and LastRetry bound the delay after an error; it doubles in
	// between. Defaults 5 ms and 30 s.
	FirstRetry, LastRetry time.Duration
	// Ready waits for what reconciling needs, such as filled caches, before Run begins;
	// its error ends Run. Default: begin at once.
	Ready func(context.Context) error
	// Clock drives delayed keys. Default: the wall clock.
	Clock clock.WithTicker
}

// Lanes returns the lane in which a key waits that is added. It must not add keys itself.
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

// Runner is a queue of keys with the workers that reconcile them. Its methods
// may be called from any goroutine, Add and AddAfter before Run as well.
type Runner[K comparable] struct {
	name      string
	reconcile Func[K]
	workers   int
	ready     func(context.Context) error
	queue     workqueue.TypedRateLimitingInterface[K]
}

// New returns a Runner that calls reconcile; name appears in log lines.
func New[K comparable](name string, reconcile Func[K], opts Options) *Runner[K] {
	return NewWithLanes(name, reconcile, nil, opts)
}

// NewWithLanes is New with an order among the keys; nil is that of their arrival.
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

// Add asks for key to be reconciled as soon as a worker is free.
func (r *Runner[K]) Add(key K) { r.queue.Add(key) }

// AddAfter asks for key to be reconciled when d has passed; of several waits for
// one key the earliest counts.
func (r *Runner[K]) AddAfter(key K, d time.Duration) { r.queue.AddAfter(key, d) }

// Len is the number of keys that wait for a worker; delayed keys do not count.
func (r *Runner[K]) Len() int { return r.queue.Len() }

// Run reconciles until ctx is done and all workers have returned. A Runner runs once.
func (r *Runner[K]) Run(ctx context.Context) error {
	if err := r.ready(ctx); err != nil {
		r.queue.ShutDown() // it has goroutines of its own
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

// next reconciles one key; it returns false when there will be no more.
func (r *Runner[K]) next(ctx context.Context) bool {
	key, quit := r.queue.Get()
	if quit {
		return false
	}
	defer r.queue.Done(key)
	if ctx.Err() != nil {
		return true // drain without work
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

// guarded turns a panic into an error: one broken object must not stop the
// process that serves all the others.
func (r *Runner[K]) guarded(ctx context.Context, key K) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	return r.reconcile(ctx, key)
}

// report logs an error. Conflicts are the normal outcome of optimistic writes
// and stay silent, as does what cannot be made in a namespace that is going: what
// the key names will be deleted too.
func (r *Runner[K]) report(ctx context.Context, key K, err error) {
	logger := klog.FromContext(ctx)
	if apierrors.IsConflict(err) || apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		logger.V(4).Info("trying again", "key", key, "err", err)
		return
	}
	if r.queue.NumRequeues(key) < 2 {
		// Most first errors are races with a cache that lags behind.
		logger.V(2).Info("trying again", "key", key, "err", err)
		return
	}
	logger.Error(err, "reconcile", "key", key, "attempt", r.queue.NumRequeues(key)+1)
}

// KeyOf is the key of an object in a Runner[types.NamespacedName].
func KeyOf(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
