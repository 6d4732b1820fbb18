package scheduler

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// preemptFor evicts pods of lower priority for a unit that cannot be placed, if it can be placed
// then, and nominates the unit (R36). It returns false if no preemption helps.
//
// All that is remembered of it is in the API: the condition DisruptionTarget of the victims, and
// that they are being deleted. The next scheduler finds them terminating, makes the same
// nomination, and waits.
func (s *Scheduler) preemptFor(ctx context.Context, entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	now := s.clock.Now()
	made := s.placer.Preempt(unit, reasons, preempt.Input{Now: now, IsEvicted: s.evicting.isEvicted})
	s.meter.Searched(kindOf(unit.Key), made != nil, s.clock.Since(now))
	switch {
	case reasons.Unfinished:
		s.queue.Add(entry.Deferred())
		return true
	case made == nil:
		return false
	}
	s.queue.Wake(s.state.Nominations.Put(made.Nomination(s.state)))
	switch {
	case len(made.Victims) > 0:
		s.meter.Preempted(kindOf(unit.Key), made.Pods(), len(made.Groups()))
		s.status.reportPreempting(unit, made)
		s.evictFor(ctx, unit.Key, evictionOf(unit, made))
	case s.free(ctx, unit.Key, s.usage.NotInUse(reclaimed(made), nil)):
		return true // tried again with the devices of the reclaimed claims
	default:
		s.waitForVictims(entry, made, reasons)
		s.retryAt(unit.Key, made.Until)
	}
	s.status.reportReasons(unit, reasons)
	return true
}

// waitForVictims parks a unit until resources are freed on its nominated nodes or where it fits as
// it is, or until another pod is bound to a nominated node, so that the victims may no longer
// suffice.
func (s *Scheduler) waitForVictims(entry queue.Entry, made *preempt.Result, reasons *sched.Reasons) {
	entry.Slice = 0
	topics := append(reasons.Topics(), model.Topic{Kind: model.TopicRoom}, model.Topic{Kind: model.TopicPods})
	if len(made.Plan.Claims) > 0 {
		topics = append(topics, model.Topic{Kind: model.TopicDevices})
	}
	heeds := slices.Contains(reasons.Topics(), model.Topic{Kind: model.TopicPods})
	pods := map[string]int{} // on the nominated nodes
	for i := range made.Plan.Pods {
		if info, ok := s.state.Nodes.Get(made.Plan.Pods[i].Node); ok {
			pods[info.Name] = len(info.Pods)
		}
	}
	more := func() bool {
		for node, n := range pods {
			if info, ok := s.state.Nodes.Get(node); ok && len(info.Pods) > n {
				return true
			}
		}
		return false
	}
	s.queue.ParkUntil(entry, topics, func(topic model.Topic) bool {
		if topic.Kind == model.TopicPods && !heeds {
			return more()
		}
		there := len(made.Reclaims) > 0 ||
			slices.ContainsFunc(made.Plan.Pods, func(p plan.Pod) bool { return p.Node == topic.Key.Name })
		return there || reasons.Helps(s.state, topic)
	})
}

// reclaimed returns the claims that are reclaimed from groups, with all their consumers.
func reclaimed(made *preempt.Result) []holding.Claim {
	var list []holding.Claim
	for _, reclaim := range made.Reclaims {
		list = append(list, holding.Claim{Key: reclaim.Claim, UID: reclaim.UID, Holders: reclaim.Consumers, Reclaimed: true})
	}
	return list
}

// evictFor evicts the victims. The unit is held until all are seen to terminate, because an earlier
// attempt might select others.
func (s *Scheduler) evictFor(ctx context.Context, key model.UnitKey, e *eviction) {
	klog.V(2).InfoS("Preempting pods of lower priority", "unit", key, "pods", len(e.pods))
	s.hold(key)
	e.done = func() { s.release(key) }
	s.startEviction(ctx, e, func() {
		s.retryLater(key, nil)
		s.finishLater(e.pods)
	})
}

// startEviction writes an eviction concurrently. failed is called if that does not succeed.
func (s *Scheduler) startEviction(ctx context.Context, e *eviction, failed func()) {
	s.evicting.add(e)
	s.runConcurrently(func() {
		err := s.evictions.write(ctx, e)
		s.feed.Enqueue(func() []model.Topic {
			if err != nil {
				klog.V(2).InfoS("Not all victims could be evicted", "for", e.preemptor.name, "reason", err)
				s.evicting.forget(e)
				failed()
				return nil
			}
			s.meter.Evicted(e.cause(), len(e.pods))
			s.evicting.written(e)
			return nil
		})
	})
}

// observeVictims observes which victims terminate, and completes evictions that another process has
// begun.
func (s *Scheduler) observeVictims(ctx context.Context, topics []model.Topic) {
	for _, topic := range topics {
		if topic.Kind != model.TopicPod {
			continue
		}
		s.evicting.podChanged(topic.Key)
		pod, ok := s.state.Pods.Get(topic.Key)
		if ok && preempt.IsVictim(pod) && !s.evicting.isEvicted(pod) {
			s.finishEviction(ctx, pod)
		}
	}
}

// finishEviction evicts a pod that was selected by a process which ended before the pod was
// deleted, and the pods that are evicted with it.
func (s *Scheduler) finishEviction(ctx context.Context, pod *model.Pod) {
	e := &eviction{remaining: map[model.Key]types.UID{}, done: func() {}}
	for _, other := range preempt.EvictedWith(s.state, pod) {
		e.add(other)
	}
	switch tree, ok := preempt.TreeOf(s.state, pod); {
	case ok:
		e.trees, e.groups = []*model.Tree{tree}, tree.Groups()
	case pod.Group != "" && len(e.pods) > 1:
		if group, ok := s.state.Groups.Get(pod.GroupKey()); ok {
			e.groups = append(e.groups, group)
		}
	}
	s.startEviction(ctx, e, func() { s.finishLater([]*model.Pod{pod}) })
}
