package scheduler

import (
	"context"
	"strings"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// retryPendingBinds tries the plans with pending binds that the topics concern again.
func (s *Scheduler) retryPendingBinds(ctx context.Context, topics []model.Topic) {
	for _, p := range s.pending.affected(topics) {
		s.tryBinds(ctx, p)
	}
}

// tryBinds writes the binds of a plan if all its devices are attached, and withdraws the plan if
// some never will be.
func (s *Scheduler) tryBinds(ctx context.Context, p *pendingBind) {
	if !s.pending.contains(p) {
		return
	}
	if why := s.pending.outdated(p); why != "" {
		s.pending.remove(p)
		s.withdraw(ctx, p.plan, attachment{failed: []string{why}})
		return
	}
	a := s.pending.attachmentOf(p.plan, p.since)
	switch {
	case len(a.failed) > 0:
		s.pending.remove(p)
		s.withdraw(ctx, p.plan, a)
	case !a.ready():
		s.reportWaiting(p, "waiting for "+strings.Join(a.missing, ", "))
		if p.alarm == nil {
			p.alarm = s.clock.AfterFunc(a.deadline.Sub(s.clock.Now()), func() {
				s.feed.Enqueue(func() []model.Topic {
					p.alarm = nil
					s.tryBinds(ctx, p)
					return nil
				})
			})
		}
	default:
		s.pending.remove(p)
		ctx = s.spans.context(ctx, p.plan.Unit)
		s.runConcurrently(func() {
			result := s.commit.Binds(ctx, p.plan)
			s.feed.Enqueue(func() []model.Topic { return s.committed(p.plan, result, p.halfBound) })
		})
	}
}

// reportWaiting reports what a plan waits for before its binds, if that has changed.
func (s *Scheduler) reportWaiting(p *pendingBind, message string) {
	if p.reported != message {
		p.reported = message
		s.status.reportPlan(p.plan, message)
	}
}

// withdraw reverts a plan of which no bind was tried: it frees what the plan has allocated, unless
// others use it, and the claims whose devices never become ready. The unit is tried again, with
// these devices in quarantine.
func (s *Scheduler) withdraw(ctx context.Context, plan *plan.Plan, a attachment) {
	why := strings.Join(a.failed, ", ")
	klog.V(2).InfoS("Withdrawing a plan before its binds", "unit", plan.Unit, "reason", why)
	s.status.reportWithdrawn(plan, a, why)
	s.quarantine.add(a.broken)
	s.hold(plan.Unit)
	unused := s.usage.UnusedOf(plan, a.hopeless)
	s.runConcurrently(func() {
		seen, err := s.giveBackAll(ctx, unused)
		s.feed.Enqueue(func() []model.Topic {
			if err != nil {
				klog.V(2).InfoS("Not all devices could be freed", "unit", plan.Unit, "reason", err)
			}
			topics := append(s.applyWritten(seen), plan.Forget(s.state)...)
			s.retryLater(plan.Unit, nil)
			return topics
		})
	})
}
