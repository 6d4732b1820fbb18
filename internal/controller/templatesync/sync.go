package templatesync

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// workers is the number of namespaces that are written to concurrently: 100 requests per second
	// to a server with a latency of 100 ms need ten.
	workers = 16
	// statusWorkers is the number of statuses that are written concurrently.
	statusWorkers = 2
	// lastRetry is the longest delay after an error.
	lastRetry = time.Minute
	// lookAgain is the interval at which the controller checks whether the server has the kinds.
	lookAgain = 2 * time.Second
)

// Options are the options of a Sync.
type Options struct {
	// QPS and Burst limit all requests together, except events. A QPS of 0 or less means no limit.
	QPS   float32
	Burst int
}

// Sync is a Controller with a server.
type Sync struct {
	api    *api
	events reconciler.Recorder
	meter  Meter
	ready  chan struct{}
}

// New returns a Sync for the server of cfg.
func New(cfg *rest.Config, events reconciler.Recorder, meter Meter, opts Options) (*Sync, error) {
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), FieldManager)
	cfg.QPS = -1
	if opts.QPS > 0 { // one limiter for all clients
		cfg.RateLimiter = flowcontrol.NewTokenBucketRateLimiter(opts.QPS, max(opts.Burst, 1))
	}
	a, err := newAPI(cfg)
	if err != nil {
		return nil, err
	}
	return &Sync{api: a, events: events, meter: meter, ready: make(chan struct{})}, nil
}

// Ready is closed when the caches are filled.
func (s *Sync) Ready() <-chan struct{} { return s.ready }

// Run synchronizes until ctx ends. It waits until the server has the kinds.
func (s *Sync) Run(ctx context.Context) error {
	if err := s.await(ctx); err != nil {
		return nil // it is the end of the context, as wanted
	}
	store, err := newCaches(s.api)
	if err != nil {
		return err
	}
	c := newController(store, s.api, s.api, s.events, s.meter, clock.RealClock{})
	opts := reconciler.Options{LastRetry: lastRetry, Workers: workers}
	unseenFirst := func(namespace string) reconciler.Lane {
		if c.board.isReconciled(namespace) {
			return reconciler.Slow
		}
		return reconciler.Fast
	}
	queue := reconciler.NewWithLanes("template-sync", c.Reconcile, unseenFirst, opts)
	opts.Workers = statusWorkers
	statuses := reconciler.New("template-sync-status", c.ReconcileStatus, opts)
	c.queue, c.statuses = queue, statuses
	synced, err := store.follow(c)
	if err != nil {
		return err
	}
	stopped, stop := context.WithCancel(ctx)
	wait := store.run(stopped)
	defer wait()
	defer stop()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return nil
	}
	close(s.ready)
	var running sync.WaitGroup
	errs := make([]error, 2)
	running.Go(func() { errs[0] = queue.Run(ctx) })
	running.Go(func() { errs[1] = statuses.Run(ctx) })
	running.Wait()
	return errors.Join(errs...)
}

// await waits until the server has the kinds, and logs which ones are missing.
func (s *Sync) await(ctx context.Context) error {
	said := ""
	for {
		err := s.api.discover()
		if err == nil {
			return nil
		}
		if reason := err.Error(); reason != said {
			said = reason
			klog.FromContext(ctx).Info("template-sync waits", "for", reason)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}
