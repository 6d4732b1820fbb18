package scheduler

import (
	"context"
	"errors"
	"strings"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// tryUnit places one unit and has the plan written, or parks the unit and reports why.
func (s *Scheduler) tryUnit(ctx context.Context, entry queue.Entry) {
	unit, ok := s.state.Unit(entry.Key)
	if !ok {
		s.freeIdle(ctx, entry.Key)
		return
	}
	begun := s.clock.Now()
	plan, reasons := s.place(unit, entry.Slice)
	if reasons != nil && reasons.Unfinished {
		s.queue.Add(entry.Deferred())
		return
	}
	var a attachment
	if plan != nil {
		if topics := s.unconfirmedClaims(plan); len(topics) > 0 {
			s.queue.Park(entry, topics)
			return
		}
		a = s.pending.attachmentOf(plan, s.clock.Now())
	}
	switch {
	case s.overdue(unit, plan != nil && len(a.failed) == 0):
		s.rollBack(ctx, unit)
		return
	case len(a.failed) > 0:
		s.abandonPlan(ctx, entry, plan, a)
		return
	case reasons != nil && reasons.Costly:
		s.continueLater(unit, reasons)
		return
	case plan == nil && s.remedy(ctx, entry, unit, reasons):
		s.meter.Ended(s.notPlaced(unit, begun))
		return
	}
	s.dropNomination(unit.Key)
	s.keepUnplaced(entry, unit, plan, reasons)
	if plan == nil {
		s.meter.Ended(s.notPlaced(unit, begun))
		return
	}
	s.write(ctx, unit, plan)
}

// freeIdle frees the claims of a group that has no pods to place.
func (s *Scheduler) freeIdle(ctx context.Context, key model.UnitKey) {
	if group, ok := s.usage.IdleGroup(key); ok {
		s.free(ctx, key, s.usage.Unused(group))
	}
}

// remedy frees devices or evicts pods so that a unit can be placed that cannot be placed now. It
// returns false if neither helps.
func (s *Scheduler) remedy(ctx context.Context, entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	return s.giveBack(ctx, unit, reasons) || s.move(ctx, entry, unit, reasons) ||
		s.preemptFor(ctx, entry, unit, reasons)
}

// keepUnplaced requeues or parks a unit for the pods that were not placed, and reports why. There
// are none if reasons is nil.
func (q *unitQueue) keepUnplaced(entry queue.Entry, unit *model.Unit, plan *plan.Plan, reasons *sched.Reasons) {
	undecided := reasons != nil && reasons.Code == sched.CodeUndecided
	if !undecided {
		delete(q.undecided, unit.Key)
	}
	if reasons == nil {
		return
	}
	entry.Slice = 0 // the next attempt is a new search
	if plan != nil && q.state.Pods.HasLowerPriority(unit.Priority) && !unit.NeverPreempts {
		q.queue.Add(entry) // the remaining pods may preempt others
		return
	}
	if undecided {
		q.parkUndecided(entry, reasons)
	} else {
		q.park(entry, reasons)
	}
	q.status.reportReasons(unit, reasons)
}

// abandonPlan does not write a plan whose claims have devices that never become ready. It frees
// these claims if it may, otherwise the unit waits until others free them.
func (s *Scheduler) abandonPlan(ctx context.Context, entry queue.Entry, plan *plan.Plan, a attachment) {
	s.dropNomination(entry.Key)
	written := *plan
	written.Claims = nil // no claim of the plan is
	if len(s.usage.UnusedOf(&written, a.hopeless)) > 0 {
		s.withdraw(ctx, &written, a)
		return
	}
	var topics []model.Topic
	for _, key := range a.hopeless {
		topics = append(topics, model.Topic{Kind: model.TopicClaim, Key: key})
	}
	s.queue.Park(entry, topics)
	s.status.reportPlan(plan, strings.Join(a.failed, ", "))
}

// write assumes a plan and writes it concurrently: completely if the devices are ready, otherwise
// up to its binds. A gang that was not placed before is held meanwhile, since further members could
// be placed alone because of binds that may yet be refused.
func (s *Scheduler) write(ctx context.Context, unit *model.Unit, plan *plan.Plan) {
	plan.Assume(s.state)
	s.queue.Wake([]model.Topic{{Kind: model.TopicPods}})
	s.status.clearVerdicts(unit.Key)
	if gang := unit.Group != nil && unit.Group.Gang && !unit.Group.Scheduled; gang || unit.Tree != nil {
		s.hold(unit.Key)
	}
	a := s.pending.attachmentOf(plan, s.clock.Now())
	ready := a.ready()
	ctx = s.spans.context(ctx, unit.Key)
	s.runConcurrently(func() {
		var result commit.Result
		if ready {
			result = s.commit.Commit(ctx, plan)
		} else {
			result = s.commit.Claims(ctx, plan)
		}
		s.feed.Enqueue(func() []model.Topic {
			if !ready && result.Refused == nil {
				s.tryBinds(ctx, s.pending.add(plan, unit.HalfBound))
				return nil
			}
			return s.committed(plan, result, unit.HalfBound)
		})
	})
}

// unconfirmedClaims returns the claims that the plan's pods use and whose allocation or reservation
// another plan is still writing. No pod is bound before its claims are in the API: after a crash in
// between it would run without them.
func (l *loop) unconfirmedClaims(plan *plan.Plan) []model.Topic {
	done := map[model.Key]bool{}
	for i := range plan.Claims {
		if plan.Claims[i].Allocation != nil {
			done[plan.Claims[i].Key] = true
		}
	}
	var topics []model.Topic
	for i := range plan.Pods {
		pod, _ := l.state.Pods.Get(plan.Pods[i].Pod)
		for _, use := range pod.Claims {
			key := model.Key{Namespace: pod.Key.Namespace, Name: use.Claim}
			if !done[key] && l.isUnconfirmed(key, pod) {
				topics = append(topics, model.Topic{Kind: model.TopicClaim, Key: key})
			}
			done[key] = done[key] || use.Group // the same for all members
		}
		key := model.Key{Namespace: pod.Key.Namespace, Name: pod.Extended}
		if plan.Pods[i].Extended != nil && !done[key] && l.isUnconfirmed(key, pod) {
			topics = append(topics, model.Topic{Kind: model.TopicClaim, Key: key})
		}
	}
	return topics
}

// isUnconfirmed reports whether the API does not show the claim's allocation or an assumed consumer
// on which the pod relies.
func (l *loop) isUnconfirmed(key model.Key, pod *model.Pod) bool {
	assumed, ok := l.state.Claims.Get(key)
	if !ok {
		return false
	}
	observed, ok := l.state.Claims.Observed(key)
	if !ok || observed.Allocation == nil {
		return true
	}
	for _, consumer := range assumed.Consumers[len(observed.Consumers):] {
		if !model.IsPodConsumer(consumer) || consumer.UID == pod.UID {
			return true
		}
	}
	return false
}

// committed handles the result of a plan, and returns the topics that it may help.
func (s *Scheduler) committed(plan *plan.Plan, result commit.Result, halfBound bool) []model.Topic {
	switch {
	case result.Refused != nil:
		klog.V(2).InfoS("A plan was refused", "unit", plan.Unit, "reason", result.Refused)
		s.status.reportFailure(plan, result.Refused, s.failures[plan.Unit])
		topics := s.applyWritten(result.TakenBack)
		if halfBound {
			s.retryLater(plan.Unit, func() []model.Topic { return plan.Forget(s.state) })
			return topics
		}
		s.retryLater(plan.Unit, nil)
		return append(topics, plan.Forget(s.state)...)
	case len(result.Failed) > 0:
		s.bindsFailed(plan, result.Failed)
		return nil
	}
	delete(s.failures, plan.Unit)
	if _, more := s.state.Unit(plan.Unit); !more {
		s.spans.end(plan.Unit, s.clock.Now())
	}
	switch {
	case plan.Unit.Tree:
		s.status.clearVerdicts(plan.Unit)
		s.status.trees.report(s.state, s.state.Tree(plan.Unit.Key)) // it may have been preempted before
		s.release(plan.Unit)
		return nil
	case !plan.Unit.Group:
		s.status.reportPlaced(plan)
		return nil
	}
	if group, ok := s.state.Groups.Get(plan.Unit.Key); ok && group.Gang {
		s.status.groups.clearVerdict(plan.Unit.Key) // the reason why its binds waited
		s.release(plan.Unit)
	}
	return nil
}

// bindsFailed has pods tried again later that could not be bound. Until then they keep their
// assumed places; otherwise a gang with other members bound could not be completed. Pods that are
// on another node keep them until the cache shows it: they need no place, and their devices are in
// use.
func (s *Scheduler) bindsFailed(plan *plan.Plan, failed map[model.Key]error) {
	for pod, err := range failed {
		klog.V(2).InfoS("A bind was refused", "pod", pod, "reason", err)
	}
	for i := range plan.Pods {
		if err := failed[plan.Pods[i].Pod]; err != nil {
			s.status.reportFailure(plan, err, s.failures[plan.Unit])
			break
		}
	}
	s.retryLater(plan.Unit, func() []model.Topic {
		var topics []model.Topic
		for i := range plan.Pods {
			p := &plan.Pods[i]
			if pod, ok := s.state.Pods.Get(p.Pod); ok && pod.UID == p.UID && failed[p.Pod] != nil &&
				!errors.Is(failed[p.Pod], commit.ErrElsewhere) {
				topics = append(topics, s.state.Pods.Forget(p.Pod)...)
			}
		}
		return topics
	})
}
