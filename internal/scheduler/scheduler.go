package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/trace"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/inventory"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// parallelWrites limits the concurrent writes of plans.
const parallelWrites = 64

// committer writes plans, and frees claims that are not used; see commit.Committer.
type committer interface {
	Commit(ctx context.Context, plan *plan.Plan) commit.Result
	Claims(ctx context.Context, plan *plan.Plan) commit.Result
	Binds(ctx context.Context, plan *plan.Plan) commit.Result
	GiveBack(ctx context.Context, held *holding.Claim) (*resource.ResourceClaim, error)
	LookUp(ctx context.Context, claim model.Key) (*resource.ResourceClaim, error)
}

// Scheduler places units, one after the other; see the package comment for its parts.
type Scheduler struct {
	*loop
	*unitQueue
	pending    *pendingBinds
	evicting   *evictionTracker
	evictions  *evictions
	evict      evictor
	quarantine *quarantine
	deleted    *deletedClaims
	repairs    *repairer
	meter      Meter
	census     *census
	ready      func(context.Context) error
	workers    []func(context.Context) error // workers for the statuses of groups and pods
}

// Options are the settings of a Scheduler. The zero value behaves as Kubernetes does.
type Options struct {
	// Name is the spec.schedulerName of the pods to place.
	Name string
	// BindingTimeout is how long pods wait for the bindingConditions of their devices; 0 means ten
	// minutes.
	BindingTimeout time.Duration
	// Meter records what is done; it may be nil.
	Meter Meter
	// Features are the enabled features; the zero value enables all.
	Features features.Set
	// CreatesClaims means that plans create the claims that are generated for pods. The claim
	// controller must leave them to the scheduler; see claim.Options.
	CreatesClaims bool
	// Tracing makes the traces of what is scheduled; it may be nil.
	Tracing trace.TracerProvider
}

const defaultBindingTimeout = 600 * time.Second

// message is a result or event that the loop handles. It is called on the loop's goroutine, and
// returns the topics that it may help.
type message func() []model.Topic

// parts are the dependencies of a Scheduler.
type parts struct {
	caches cluster.Caches
	commit func(commit.Cache) committer
	groups groupWriter
	pods   podWriter
	// composites is not used if there is no cache of them.
	composites compositeWriter
	evict      evictor
	events     reconciler.Recorder
	clock      clock.WithDelayedExecution
	opts       Options
}

// New returns a Scheduler. It must be called before the caches start.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder, opts Options) (*Scheduler, error) {
	clk := clock.RealClock{}
	caches := cluster.CachesOf(inf)
	if opts.Features.On(features.CompositePodGroup) {
		caches.Composites = inf.CompositePodGroups()
	}
	s, err := newScheduler(parts{
		caches: caches, composites: writer{set},
		commit: func(cached commit.Cache) committer { return commit.New(set, cached, clk, parallelWrites) },
		groups: writer{set}, pods: writer{set}, evict: writer{set}, events: events, clock: clk, opts: opts,
	})
	if err != nil {
		return nil, err
	}
	s.ready = inf.WaitForSync
	groups := reconciler.New("podgroup-status", s.status.groups.reconcile, reconciler.Options{Clock: clk})
	pods := reconciler.New("pod-status", s.status.pods.reconcile, reconciler.Options{Clock: clk, Workers: 2})
	trees := reconciler.New("compositepodgroup-status", s.status.trees.reconcile, reconciler.Options{Clock: clk})
	s.status.groups.queue, s.status.pods.queue, s.status.trees.queue = groups, pods, trees
	s.workers = []func(context.Context) error{groups.Run, pods.Run, trees.Run}
	return s, nil
}

// newScheduler returns a Scheduler without the queues and workers of the status writers.
func newScheduler(p parts) (*Scheduler, error) {
	p.opts.Name = cmp.Or(p.opts.Name, corev1.DefaultSchedulerName)
	p.caches.Features, p.caches.ExpectsClaims = p.opts.Features, p.opts.CreatesClaims
	if p.opts.Meter == nil {
		p.opts.Meter = noMeter{}
	}
	feed, err := cluster.NewFeed(p.caches, p.opts.Name)
	if err != nil {
		return nil, err
	}
	state := model.NewState()
	traces := newSpans(p.opts.Tracing)
	l := &loop{
		feed: feed, commit: counted{p.commit(feed), p.clock, p.opts.Meter, traces, p.opts.Name},
		status: newReporter(p, state, feed), clock: p.clock, spans: traces,
		state: state, usage: holding.Usage{State: state}, placer: sched.NewPlacer(state, sched.DefaultSteps),
	}
	l.runConcurrently = l.running.Go
	units := newUnitQueue(l)
	return &Scheduler{
		loop: l, unitQueue: units, evict: p.evict, meter: p.opts.Meter,
		census:     &census{unitQueue: units, inventory: inventory.New(state, l.placer.ClassDevices)},
		pending:    newPendingBinds(state, p.clock, cmp.Or(p.opts.BindingTimeout, defaultBindingTimeout)),
		evicting:   newEvictionTracker(state),
		quarantine: &quarantine{loop: l, until: map[model.DeviceID]time.Time{}},
		deleted:    &deletedClaims{loop: l, claims: map[model.Key]bool{}},
		repairs:    &repairer{loop: l, pods: p.pods, cache: p.caches.Pods, evict: p.evict, suspects: map[model.Key]bool{}},
		evictions: &evictions{
			pods: p.pods, podGroups: p.groups, trees: p.composites, evict: p.evict, cache: p.caches.Pods, events: p.events,
			clock: p.clock, name: p.opts.Name,
		},
	}, nil
}

// Name returns the spec.schedulerName of the pods that the Scheduler places.
func (s *Scheduler) Name() string { return s.status.groups.name }

// Run places units until ctx ends, and returns when all writes have ended.
func (s *Scheduler) Run(ctx context.Context) error {
	err := s.ready(ctx)
	for _, work := range s.workers {
		s.running.Go(func() { _ = work(ctx) }) // it ends with ctx and returns no other error
	}
	defer func() {
		s.running.Wait()
		s.spans.endAll(s.clock.Now())
	}()
	if err != nil { // ctx has ended; the workers complete what they have begun
		return fmt.Errorf("scheduler: %w", err)
	}
	s.started.Store(true)
	defer s.started.Store(false)
	for ctx.Err() == nil {
		if s.step(ctx) {
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.feed.Wake():
		}
	}
	return nil
}

// step applies events and tries one unit. It returns false if there is none to try.
func (s *Scheduler) step(ctx context.Context) bool {
	s.applyEvents(ctx)
	entry, ok := s.queue.Pop()
	if ok {
		s.try(ctx, entry)
	}
	s.meter.Waiting(s.queue.Len())
	return ok
}

// applyEvents brings the State and the queue up to date.
func (s *Scheduler) applyEvents(ctx context.Context) {
	topics := s.feed.Apply(s.state)
	s.queue.Wake(topics)
	s.retryPendingBinds(ctx, topics)
	s.observeVictims(ctx, topics)
	s.deleted.freeDeleted(ctx, topics)
	s.repairs.observeUnprovided(ctx, topics)
	offered := map[model.UnitKey]bool{}
	for _, topic := range topics {
		key, ok := s.unitOf(topic)
		if !ok || offered[key] {
			continue
		}
		offered[key] = true
		for _, unit := range s.state.UnitsOf(key) {
			if unit == key || !offered[unit] {
				offered[unit] = true
				s.enqueueUnit(unit)
			}
		}
	}
	s.status.trees.observe(s.state, topics)
}
