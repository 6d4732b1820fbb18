package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// parallelWrites is how many writes of plans may be under way.
const parallelWrites = 64

// committer writes plans, and takes off claims what nobody uses; commit.Committer is one.
type committer interface {
	Commit(ctx context.Context, plan *sched.Plan) commit.Result
	Claims(ctx context.Context, plan *sched.Plan) commit.Result
	Binds(ctx context.Context, plan *sched.Plan) map[model.Key]error
	GiveBack(ctx context.Context, held *commit.Held) (*resource.ResourceClaim, error)
	LookUp(ctx context.Context, claim model.Key) (*resource.ResourceClaim, error)
}

// Scheduler places units, one after the other.
type Scheduler struct {
	feed      *cluster.Feed
	commit    committer
	evict     evictor
	evictions *evictions
	status    *reporter
	clock     clock.WithDelayedExecution
	meter     Meter
	ready     func(context.Context) error
	workers   []func(context.Context) error // of groups and pods

	running sync.WaitGroup
	beside  func(func()) // runs writes beside the loop; Run waits for them

	// All that follows belongs to the loop's goroutine.
	state     *model.State
	usage     claimUsage
	queue     *sched.Queue
	placer    *sched.Placer
	held      map[model.UnitKey]bool      // not to be tried now; whoever holds a unit releases it
	failures  map[model.UnitKey]int       // refused plans in a row
	halfBound map[model.UnitKey]time.Time // since when a half-bound gang could not be finished
	undecided map[model.UnitKey]*backoff  // of units for which the whole budget was not enough
	pending   *pendingBinds
	evicting  *evictionTracker
	alarms    map[model.UnitKey]time.Time // when units are tried again that wait for pods to go
	// nextCostly is when the last of the units whose claims have costly expressions is tried again.
	nextCostly time.Time
	avoided    map[model.DeviceID]time.Time // until when devices are in quarantine
	deleted    map[model.Key]bool           // claims that have devices and are being deleted; true: those are being freed
	suspects   map[model.Key]bool           // pods on a node that seem to lack devices, and are looked at again
}

// Options are what can be chosen. The zero value is as in Kubernetes.
type Options struct {
	// Name is the spec.schedulerName of the pods to place.
	Name string
	// BindingTimeout is how long pods wait for the bindingConditions of their devices; 0 for ten minutes.
	BindingTimeout time.Duration
	// Meter counts what is done; nil for nobody.
	Meter Meter
	// Features are those that are on; the zero value has all of them.
	Features features.Set
}

const defaultBindingTimeout = 600 * time.Second

// message is what happened beside the loop. It is called on the loop's goroutine, and gives what it may help.
type message func() []model.Topic

// parts are what a Scheduler works on.
type parts struct {
	caches cluster.Caches
	commit func(commit.Cache) committer
	groups groupWriter
	pods   podWriter
	evict  evictor
	events reconciler.Recorder
	clock  clock.WithDelayedExecution
	opts   Options
}

// New makes a Scheduler. Call it before the caches start.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder, opts Options) (*Scheduler, error) {
	clk := clock.RealClock{}
	s, err := newScheduler(parts{
		caches: cluster.CachesOf(inf),
		commit: func(cached commit.Cache) committer { return commit.New(set, cached, clk, parallelWrites) },
		groups: writer{set}, pods: writer{set}, evict: writer{set}, events: events, clock: clk, opts: opts,
	})
	if err != nil {
		return nil, err
	}
	s.ready = inf.WaitForSync
	groups := reconciler.New("podgroup-status", s.status.groups.reconcile, reconciler.Options{Clock: clk})
	pods := reconciler.New("pod-status", s.status.pods.reconcile, reconciler.Options{Clock: clk, Workers: 2})
	s.status.groups.queue, s.status.pods.queue = groups, pods
	s.workers = []func(context.Context) error{groups.Run, pods.Run}
	return s, nil
}

// newScheduler makes a Scheduler that lacks the queues of what is to be told, and whoever works on them.
func newScheduler(p parts) (*Scheduler, error) {
	p.opts.Name = cmp.Or(p.opts.Name, corev1.DefaultSchedulerName)
	p.caches.Features = p.opts.Features
	if p.opts.Meter == nil {
		p.opts.Meter = uncounted{}
	}
	feed, err := cluster.NewFeed(p.caches, p.opts.Name)
	if err != nil {
		return nil, err
	}
	state := model.NewState()
	s := &Scheduler{
		feed: feed, commit: counted{p.commit(feed), p.clock, p.opts.Meter}, evict: p.evict, clock: p.clock, meter: p.opts.Meter,
		state: state, usage: claimUsage{state}, queue: sched.NewQueue(), placer: sched.NewPlacer(state, sched.DefaultSteps),
		held: map[model.UnitKey]bool{}, failures: map[model.UnitKey]int{}, halfBound: map[model.UnitKey]time.Time{},
		undecided: map[model.UnitKey]*backoff{}, suspects: map[model.Key]bool{},
		evicting: newEvictionTracker(state), alarms: map[model.UnitKey]time.Time{},
		avoided: map[model.DeviceID]time.Time{}, deleted: map[model.Key]bool{},
		pending: newPendingBinds(state, p.clock, cmp.Or(p.opts.BindingTimeout, defaultBindingTimeout)),
	}
	s.beside = s.running.Go
	s.status = newReporter(p, state, feed)
	s.evictions = &evictions{pods: p.pods, podGroups: p.groups, evict: p.evict, cache: p.caches.Pods, events: p.events, clock: p.clock, name: p.opts.Name}
	return s, nil
}

// Name is the spec.schedulerName of the pods that it places.
func (s *Scheduler) Name() string { return s.status.groups.name }

// Run places units until ctx ends, and returns when nothing is being written any more.
func (s *Scheduler) Run(ctx context.Context) error {
	err := s.ready(ctx)
	for _, work := range s.workers {
		s.running.Go(func() { _ = work(ctx) }) // it ends with ctx, and has no error of its own
	}
	defer s.running.Wait()
	if err != nil { // ctx has ended, and the workers end what they have
		return fmt.Errorf("scheduler: %w", err)
	}
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

// step takes in what has happened, and tries one unit. It answers false if none is to be tried.
func (s *Scheduler) step(ctx context.Context) bool {
	s.takeIn(ctx)
	entry, ok := s.queue.Pop()
	if ok {
		s.try(ctx, entry)
	}
	s.meter.Waiting(s.queue.Len())
	return ok
}

// takeIn brings the State up to date, and the queue with it.
func (s *Scheduler) takeIn(ctx context.Context) {
	topics := s.feed.Apply(s.state)
	s.queue.Wake(topics)
	s.retryPendingBinds(ctx, topics)
	s.lookAtVictims(ctx, topics)
	s.freeDeleted(ctx, topics)
	s.lookAtUnprovided(ctx, topics)
	offered := map[model.UnitKey]bool{}
	for _, topic := range topics {
		if key, ok := s.unitOf(topic); ok && !offered[key] {
			offered[key] = true
			s.offer(key)
		}
	}
}

// unitOf is the unit whose own pods or group a topic is about.
func (s *Scheduler) unitOf(topic model.Topic) (model.UnitKey, bool) {
	switch topic.Kind {
	case model.TopicMembers, model.TopicGroup:
		return model.UnitKey{Group: true, Key: topic.Key}, true
	case model.TopicPod:
		if pod, ok := s.state.Pods.Get(topic.Key); ok {
			return pod.UnitKey(), true
		}
		return model.UnitKey{Key: topic.Key}, true // gone; a group is told by its own topic
	}
	return model.UnitKey{}, false
}

// offer puts a unit in line if it has something to place, and else forgets it.
func (s *Scheduler) offer(key model.UnitKey) {
	if s.held[key] || s.parkIncomplete(key) {
		return
	}
	if unit, ok := s.state.Unit(key); ok {
		s.queue.Add(sched.EntryOf(unit))
		return
	}
	delete(s.halfBound, key)
	s.leavePlace(key)
	if s.usage.idleGroupHolds(key) {
		s.queue.Add(sched.Entry{Key: key})
		return
	}
	s.queue.Remove(key)
	if !s.exists(key) {
		delete(s.failures, key)
		delete(s.undecided, key)
	}
}

// exists says whether the unit has any pods, waiting or not.
func (s *Scheduler) exists(key model.UnitKey) bool {
	if key.Group {
		return s.state.Groups.Census(key.Key) != model.Census{}
	}
	_, ok := s.state.Pods.Get(key.Key)
	return ok
}

// hold takes a unit out of line until it is released.
func (s *Scheduler) hold(key model.UnitKey) {
	s.held[key] = true
	s.queue.Remove(key)
}

// release puts a unit that was held in line again.
func (s *Scheduler) release(key model.UnitKey) {
	delete(s.held, key)
	s.offer(key)
}

// after has something happen to the loop after a while.
func (s *Scheduler) after(delay time.Duration, happens message) {
	s.clock.AfterFunc(delay, func() { s.feed.Enqueue(happens) })
}
