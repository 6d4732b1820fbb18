package scheduler

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// parallelWrites is how many writes of plans may be under way.
const parallelWrites = 64

// Successes of single pods are told by events as long as there are not more than this a second.
const (
	successesPerSecond = 20
	successesBurst     = 50
)

// recorder publishes events; record.EventRecorder is one.
type recorder interface {
	Eventf(object runtime.Object, eventtype, reason, messageFmt string, args ...any)
}

// committer writes plans; commit.Committer is one.
type committer interface {
	Commit(ctx context.Context, plan *sched.Plan) commit.Result
}

// Scheduler places units, one after the other. All fields below state belong to the loop's goroutine.
type Scheduler struct {
	feed      *cluster.Feed
	commit    committer
	groups    *groupStatus
	pods      *podStatus
	evict     evictor
	events    recorder
	successes flowcontrol.RateLimiter
	clock     clock.WithTickerAndDelayedExecution
	ready     func(context.Context) error

	messages *mailbox[message]
	running  sync.WaitGroup // commits and rollbacks

	state     *model.State
	queue     *sched.Queue
	placer    *sched.Placer
	failures  map[model.UnitKey]int       // refused plans in a row
	halfBound map[model.UnitKey]time.Time // since when a half-bound gang could not be finished
}

// message is what the loop is told from outside: that a plan was written or refused, or that
// a unit is to be tried again.
type message struct {
	plan   *sched.Plan
	result commit.Result
	retry  *model.UnitKey
}

// New makes a Scheduler for pods with the default scheduler's name. Call it before the caches start.
func New(set *client.Set, inf *client.Informers, events recorder) (*Scheduler, error) {
	clk := clock.RealClock{}
	feed, err := cluster.NewFeed(inf, corev1.DefaultSchedulerName)
	if err != nil {
		return nil, err
	}
	pods := newPodStatus(set, inf, events, clk)
	groups, err := newGroupStatus(set, inf, pods, events, clk)
	if err != nil {
		return nil, err
	}
	state := model.NewState()
	return &Scheduler{
		feed: feed, commit: commit.New(set, feed, clk, parallelWrites), groups: groups, pods: pods,
		evict: podEvictor{set}, events: events, clock: clk, ready: inf.WaitForSync,
		successes: flowcontrol.NewTokenBucketRateLimiter(successesPerSecond, successesBurst),
		messages:  newMailbox[message](),
		state:     state, queue: sched.NewQueue(), placer: sched.NewPlacer(state, sched.DefaultSteps),
		failures: map[model.UnitKey]int{}, halfBound: map[model.UnitKey]time.Time{},
	}, nil
}

// Run places units until ctx ends, and returns when nothing is being written any more.
func (s *Scheduler) Run(ctx context.Context) error {
	if err := s.ready(ctx); err != nil {
		return fmt.Errorf("scheduler: %w", err)
	}
	s.running.Go(func() { _ = s.groups.runner.Run(ctx) })
	s.running.Go(func() { _ = s.pods.runner.Run(ctx) })
	defer s.running.Wait()
	for ctx.Err() == nil {
		s.takeIn()
		if entry, ok := s.queue.Pop(); ok {
			s.try(ctx, entry)
			continue
		}
		select {
		case <-ctx.Done():
		case <-s.feed.Wake():
		case <-s.messages.wake:
		}
	}
	return nil
}

// takeIn brings the State up to date, and the queue with it.
func (s *Scheduler) takeIn() {
	topics := s.feed.Apply(s.state)
	for _, m := range s.messages.take() {
		if m.retry != nil {
			s.offer(*m.retry)
			continue
		}
		topics = append(topics, s.committed(m.plan, m.result)...)
	}
	if len(topics) == 0 {
		return
	}
	s.queue.Wake(topics)
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
		if pod, ok := s.state.Pod(topic.Key); ok {
			return pod.UnitKey(), true
		}
	}
	return model.UnitKey{}, false
}

// offer puts a unit in line if it has pods that wait, and else forgets it.
func (s *Scheduler) offer(key model.UnitKey) {
	if unit, ok := s.state.Unit(key); ok {
		s.queue.Add(sched.EntryOf(unit))
		return
	}
	s.queue.Remove(key)
	delete(s.failures, key)
	delete(s.halfBound, key)
}

// try places one unit, and hands the plan to be written.
func (s *Scheduler) try(ctx context.Context, entry sched.Entry) {
	unit, ok := s.state.Unit(entry.Key)
	if !ok {
		return
	}
	plan, reasons := s.placer.Place(unit)
	if plan != nil {
		if topics := s.unwritten(plan); len(topics) > 0 {
			s.queue.Park(entry, topics)
			return
		}
		plan.Assume(s.state)
		s.running.Go(func() {
			s.messages.put(message{plan: plan, result: s.commit.Commit(ctx, plan)})
		})
	}
	s.followHalfBound(ctx, unit, plan != nil)
	if reasons != nil {
		s.queue.Park(entry, reasons.Topics())
		s.tell(unit, reasons)
	}
}

// unwritten gives the claims that the plan's pods use and whose allocation another plan is
// still writing: no pod is bound before its claims are in the API, or a crash in between would
// leave it running without them.
func (s *Scheduler) unwritten(plan *sched.Plan) []model.Topic {
	own := map[model.Key]bool{}
	for i := range plan.Claims {
		own[plan.Claims[i].Key] = plan.Claims[i].Allocation != nil
	}
	var topics []model.Topic
	for i := range plan.Pods {
		pod, _ := s.state.Pod(plan.Pods[i].Pod)
		for _, use := range pod.Claims {
			key := model.Key{Namespace: pod.Key.Namespace, Name: use.Claim}
			if observed, ok := s.state.ObservedClaim(key); ok && observed.Allocation == nil && !own[key] {
				topics = append(topics, model.Topic{Kind: model.TopicClaim, Key: key})
			}
		}
	}
	return topics
}

// committed takes note of what became of a plan, and gives what that may help.
func (s *Scheduler) committed(plan *sched.Plan, result commit.Result) []model.Topic {
	if result.Refused != nil {
		klog.V(2).InfoS("A plan was refused", "unit", plan.Unit, "reason", result.Refused)
		s.retryLater(plan.Unit)
		return plan.Forget(s.state)
	}
	var topics []model.Topic
	for pod, err := range result.Failed {
		klog.V(2).InfoS("A bind was refused", "pod", pod, "reason", err)
		topics = append(topics, s.state.ForgetPod(pod)...)
	}
	if len(result.Failed) > 0 {
		s.retryLater(plan.Unit)
		return topics
	}
	delete(s.failures, plan.Unit)
	if !plan.Unit.Group {
		s.tellPlaced(plan)
	}
	return topics
}

// Refused plans are made anew after a pause that doubles, so that a cache that is behind can catch up.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 10 * time.Second
)

func (s *Scheduler) retryLater(key model.UnitKey) {
	delay := min(firstRetry<<min(s.failures[key], 10), lastRetry)
	s.failures[key]++
	s.retryAfter(key, delay)
}

func (s *Scheduler) retryAfter(key model.UnitKey, delay time.Duration) {
	s.clock.AfterFunc(delay, func() { s.messages.put(message{retry: &key}) })
}

// tellPlaced publishes an event for a pod that was placed alone. Groups have a condition for that.
func (s *Scheduler) tellPlaced(plan *sched.Plan) {
	for _, p := range plan.Pods {
		pod, ok := s.feed.Pod(p.Pod)
		if !ok || !s.successes.TryAccept() {
			continue
		}
		s.events.Eventf(pod, corev1.EventTypeNormal, "Scheduled", "Successfully assigned %s to %s", p.Pod, p.Node)
	}
}
