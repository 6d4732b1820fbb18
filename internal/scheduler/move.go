package scheduler

import (
	"context"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// move frees the devices with which a unit cannot be placed if it can be placed with others. A
// group keeps its devices for the pods that replace the old ones (F09), but not devices that are
// tainted, no longer published, or on nodes where no pod can go. Nothing is freed while a pod that
// uses the claim is on a node, or while the unit cannot be placed elsewhere: until then the reasons
// say what is wrong with the devices (P2).
//
// The survivors of a gang are evicted first, so that the gang can be placed as a whole.
func (s *Scheduler) move(ctx context.Context, entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	if !holding.MayMove(unit, reasons) {
		return false
	}
	held := s.usage.Held(s.placer, unit)
	switch held.Next(s.placer, unit, reasons) {
	case holding.Free:
		return s.free(ctx, unit.Key, held.Idle)
	case holding.Evict:
		s.evictFor(ctx, unit.Key, evictionOfSurvivors(unit, held.Survivors))
		return true
	case holding.Continue:
		s.queue.Add(entry.Deferred())
		return true
	}
	return false
}
