package scheduler

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// try calls tryUnit and recovers from panics, so that a panic affects only the unit that causes it.
func (s *Scheduler) try(ctx context.Context, entry queue.Entry) {
	defer func() {
		if cause := recover(); cause != nil {
			s.recoverFromPanic(entry, cause, debug.Stack())
		}
	}()
	s.tryUnit(ctx, entry)
}

// recoverFromPanic continues after a panic if the State is unchanged: the trial was undone while
// the stack was unwound. What the placer has cached may be incomplete and is discarded. The unit is
// tried again with back-off.
func (s *Scheduler) recoverFromPanic(entry queue.Entry, cause any, stack []byte) {
	klog.ErrorS(nil, "Placing a unit panicked", "unit", entry.Key, "panic", cause, "stack", string(stack))
	if err := s.state.Audit(); err != nil {
		panic(fmt.Sprintf("placing %v: %v; the State is not as it was: %v", entry.Key, cause, err))
	}
	s.placer = sched.NewPlacer(s.state, sched.DefaultSteps)
	if unit, ok := s.state.Unit(entry.Key); ok {
		s.status.reportError(unit,
			fmt.Sprintf("internal error while placing: %v (the scheduler's log has the stack; trying again)", cause))
	}
	s.retryLater(entry.Key, nil)
}

// costlyPause is the time between two attempts with costly expressions, of any units. It leaves
// more than half of the loop's time to other units.
const costlyPause = time.Second

// continueLater tries a unit again whose claims' expressions are too costly for one attempt. Such
// units take turns.
func (q *unitQueue) continueLater(unit *model.Unit, reasons *sched.Reasons) {
	q.dropNomination(unit.Key)
	q.status.reportReasons(unit, reasons)
	now := q.clock.Now()
	if q.nextCostly.Before(now) {
		q.nextCostly = now
	}
	q.nextCostly = q.nextCostly.Add(costlyPause)
	q.hold(unit.Key)
	q.runAfter(q.nextCostly.Sub(now), func() []model.Topic {
		q.release(unit.Key)
		return nil
	})
}
