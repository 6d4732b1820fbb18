package scheduler

import (
	"context"
	"errors"
	"time"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/model"
)

// rollBackAfter is how long a gang may stay half-bound while it cannot be finished: time for
// its controller to replace members that are gone.
const rollBackAfter = 10 * time.Second

// maxFinishes is how many plans in a row that would finish a half-bound gang may fail.
const maxFinishes = 8

// overdue says whether a half-bound gang is to be rolled back: it could not be finished for too long, or binds that
// would finish it fail again and again (R50).
func (q *unitQueue) overdue(unit *model.Unit, placeable bool) bool {
	if !unit.HalfBound || placeable {
		delete(q.halfBound, unit.Key)
		return unit.HalfBound && q.failures[unit.Key] >= maxFinishes
	}
	now := q.clock.Now()
	since, known := q.halfBound[unit.Key]
	if !known {
		q.halfBound[unit.Key] = now
		q.after(rollBackAfter, func() []model.Topic {
			q.offer(unit.Key)
			return nil
		})
		return false
	}
	return now.Sub(since) >= rollBackAfter
}

// rollBack deletes the bound members of a gang, so that it is as if it had never been placed.
func (s *Scheduler) rollBack(ctx context.Context, unit *model.Unit) {
	klog.InfoS("Rolling back a gang that was left half-bound and cannot be finished", "podGroup", unit.Key.Key)
	var bound []*model.Pod
	for _, pod := range s.state.Groups.Members(unit.Key.Key) {
		if pod.Counts() && pod.Live() && !pod.Foreign && !s.state.Pods.Assumed(pod.Key) {
			bound = append(bound, pod)
		}
	}
	delete(s.halfBound, unit.Key)
	delete(s.failures, unit.Key)
	s.hold(unit.Key)
	s.beside(func() {
		var errs []error
		for _, pod := range bound {
			errs = append(errs, s.evict.Evict(ctx, pod))
		}
		err := errors.Join(errs...)
		s.feed.Enqueue(func() []model.Topic {
			if err != nil {
				klog.ErrorS(err, "Rolling back a half-bound gang", "podGroup", unit.Key.Key)
			}
			s.release(unit.Key) // what is still half-bound gets its time, and is rolled back again
			return nil
		})
	})
}
