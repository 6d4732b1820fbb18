package scheduler

import (
	"context"
	"fmt"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// move frees the devices with which a unit cannot be placed if it can be placed with others. A
// group keeps its devices for the pods that replace the old ones (F09), but not devices that are
// tainted, no longer published, or on nodes where no pod can go. Nothing is freed while a pod that
// uses the claim is on a node, or while the unit cannot be placed elsewhere: until then the reasons
// say what is wrong with the devices (P2).
func (s *Scheduler) move(ctx context.Context, entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	if unit.HalfBound || reasons.Code != sched.CodeUnschedulable && reasons.Code != sched.CodeWaiting {
		return false
	}
	broken := ""
	var held []commit.Held
	for _, key := range s.usage.allocatedOf(unit, unit.Group != nil) {
		claim, _ := s.state.Claims.Get(key)
		text := s.placer.Broken(unit, claim)
		if broken == "" {
			broken = text
		}
		if user := s.placer.User(unit, key); user != nil {
			if text != "" {
				reasons.Stay(fmt.Sprintf("%s, and is used by pod %s on node %s: delete that pod to have other devices allocated", text, user.Key, user.Node), nil)
				return false
			}
			continue
		}
		if s.usage.reservedOnlyFor(claim, unit, text != "") {
			held = append(held, commit.Held{Key: key, UID: claim.UID, Holders: claim.Consumers})
		}
	}
	if len(held) == 0 {
		return false
	}
	var keys []model.Key
	for i := range held {
		keys = append(keys, held[i].Key)
	}
	fits, elsewhere := s.placer.Elsewhere(unit, reasons, keys)
	switch {
	case fits:
		return s.free(ctx, unit.Key, held)
	case elsewhere.Unfinished:
		s.queue.Add(entry.Deferred())
		return true
	}
	reasons.Stay(broken, elsewhere)
	return false
}
