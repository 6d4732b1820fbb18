package scheduler

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// makeRoom has those who are less important leave for a unit that has no place, if it can be placed then, and keeps the
// place for it (R36). It answers false if no room can be made.
//
// All that is remembered of it is in the API: the victims' condition DisruptionTarget, and that they are being deleted.
// A scheduler that comes next finds them leaving, keeps the same place, and waits.
func (s *Scheduler) makeRoom(ctx context.Context, entry sched.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	now := s.clock.Now()
	made := s.placer.Preempt(unit, reasons, sched.Moment{Now: now, Leaving: s.evicting.isEvicted})
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
		s.meter.Preempted(kindOf(unit.Key), made.Pods(), made.Groups())
		s.status.reportPreempting(unit, made)
		s.evictFor(ctx, unit.Key, evictionOf(unit, made))
	case s.free(ctx, unit.Key, s.usage.notInUse(recalled(made), nil)):
		return true // it is tried again with what was taken back
	default:
		s.awaitRoom(entry, made, reasons)
		s.tryAgainAt(unit.Key, made.Until)
	}
	s.status.reportReasons(unit, reasons)
	return true
}

// awaitRoom parks a unit until something comes free where it is to go, or where it could go as it is, or a pod gets a node
// that is kept: somebody else has bound it there, and that the victims terminate may not be enough any more.
func (s *Scheduler) awaitRoom(entry sched.Entry, made *sched.Preemption, reasons *sched.Reasons) {
	entry.Slice = 0
	topics := append(reasons.Topics(), model.Topic{Kind: model.TopicRoom}, model.Topic{Kind: model.TopicPods})
	if len(made.Plan.Claims) > 0 {
		topics = append(topics, model.Topic{Kind: model.TopicDevices})
	}
	heeds := slices.Contains(reasons.Topics(), model.Topic{Kind: model.TopicPods})
	pods := map[string]int{} // on the nodes that are kept
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
		there := len(made.Recalls) > 0 || slices.ContainsFunc(made.Plan.Pods, func(p sched.Placement) bool { return p.Node == topic.Key.Name })
		return there || reasons.Helps(s.state, topic)
	})
}

// recalled are the claims that groups lose, with all that hold them.
func recalled(made *sched.Preemption) []commit.Held {
	var list []commit.Held
	for _, recall := range made.Recalls {
		list = append(list, commit.Held{Key: recall.Claim, UID: recall.UID, Holders: recall.Consumers})
	}
	return list
}

// evictFor makes the victims leave. The unit is held until all are seen to be going: if it were tried before, it might
// find others.
func (s *Scheduler) evictFor(ctx context.Context, key model.UnitKey, e *eviction) {
	klog.V(2).InfoS("Making room for what is more important", "unit", key, "pods", len(e.pods))
	s.hold(key)
	e.done = func() { s.release(key) }
	s.startEviction(ctx, e, func() { s.retryLater(key, nil) })
}

// startEviction carries an eviction out beside the loop. failed is called if that does not succeed.
func (s *Scheduler) startEviction(ctx context.Context, e *eviction, failed func()) {
	s.evicting.add(e)
	s.beside(func() {
		err := s.evictions.carryOut(ctx, e)
		s.feed.Enqueue(func() []model.Topic {
			if err != nil {
				klog.V(2).InfoS("Not all who have to leave could be told", "for", e.preemptor.name, "reason", err)
				s.evicting.forget(e)
				failed()
				return nil
			}
			s.evicting.written(e)
			return nil
		})
	})
}

// lookAtVictims sees which pods that have to leave are going, and finishes what another process has begun.
func (s *Scheduler) lookAtVictims(ctx context.Context, topics []model.Topic) {
	for _, topic := range topics {
		if topic.Kind != model.TopicPod {
			continue
		}
		s.evicting.podChanged(topic.Key)
		pod, ok := s.state.Pods.Get(topic.Key)
		if ok && sched.Doomed(pod) && !s.evicting.isEvicted(pod) {
			s.finish(ctx, pod)
		}
	}
}

// finish has a pod leave that was chosen by a process which ended before it was deleted, and those that go with it.
func (s *Scheduler) finish(ctx context.Context, pod *model.Pod) {
	e := &eviction{left: map[model.Key]types.UID{}, done: func() {}}
	for _, other := range sched.DoomedWith(s.state, pod) {
		e.add(other)
	}
	if group, ok := s.state.Groups.Get(pod.GroupKey()); ok && pod.Group != "" && len(e.pods) > 1 {
		e.groups = append(e.groups, group)
	}
	s.startEviction(ctx, e, func() {
		s.after(lastRetry, func() []model.Topic { return []model.Topic{{Kind: model.TopicPod, Key: pod.Key}} })
	})
}
