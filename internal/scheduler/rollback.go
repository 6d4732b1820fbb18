package scheduler

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/model"
)

// rollBackAfter is how long a gang may stay half-bound while it cannot be completed: time for its
// controller to replace deleted members.
const rollBackAfter = 10 * time.Second

// maxFinishes is how many plans in a row that would complete a half-bound gang may fail.
const maxFinishes = 8

// overdue reports whether a half-bound gang must be rolled back: it could not be completed for too
// long, or binds that would complete it fail repeatedly (R50).
func (q *unitQueue) overdue(unit *model.Unit, placeable bool) bool {
	if !unit.HalfBound || placeable {
		delete(q.halfBound, unit.Key)
		return unit.HalfBound && q.failures[unit.Key] >= maxFinishes
	}
	now := q.clock.Now()
	since, known := q.halfBound[unit.Key]
	if !known {
		q.halfBound[unit.Key] = now
		q.runAfter(rollBackAfter, func() []model.Topic {
			q.enqueue(unit.Key)
			return nil
		})
		return false
	}
	return now.Sub(since) >= rollBackAfter
}

// rollBack deletes the bound members of a gang, as if it had never been placed.
func (s *Scheduler) rollBack(ctx context.Context, unit *model.Unit) {
	klog.InfoS("Rolling back a half-bound gang that cannot be completed", "unit", unit.Key)
	var bound []*model.Pod
	for _, pod := range s.state.Members(unit.Key) {
		if pod.Counts() && pod.Live() && !pod.Foreign && !s.state.Pods.Assumed(pod.Key) {
			bound = append(bound, pod)
		}
	}
	s.meter.RolledBack()
	delete(s.halfBound, unit.Key)
	delete(s.failures, unit.Key)
	s.hold(unit.Key)
	s.runConcurrently(func() {
		var errs []error
		for _, pod := range bound {
			if err := s.evict.Evict(ctx, pod); err != nil {
				errs = append(errs, err)
			}
		}
		err := errors.Join(errs...)
		s.feed.Enqueue(func() []model.Topic {
			s.meter.Evicted(causeRollback, len(bound)-len(errs))
			if err != nil {
				klog.ErrorS(err, "Rolling back a half-bound gang", "unit", unit.Key)
			}
			// if it is still half-bound, it is rolled back again after the same time
			s.release(unit.Key)
			return nil
		})
	})
}
