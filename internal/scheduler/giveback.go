package scheduler

import (
	"context"
	"fmt"

	"k8s.io/klog/v2"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/holding"
)

// giveBack frees the devices with which a unit cannot be placed, and reports whether there are any.
// The unit is held meanwhile, and tried again with all devices to choose from, also those on other
// nodes (R17).
//
// A unit that does not run has devices when the process ended between its claims and its binds,
// when a half-bound gang was rolled back, or when their node was deleted or filled up. A group that
// has run keeps them while it is merely empty or incomplete, for the pods that replace the old ones
// (F09), and what is reserved for it is not freed then.
func (s *Scheduler) giveBack(ctx context.Context, unit *model.Unit, reasons *sched.Reasons) bool {
	if !holding.MayGiveBack(unit, reasons) {
		return false
	}
	return s.free(ctx, unit.Key, s.usage.Unused(unit))
}

// free deallocates claims that a unit does not use, and reports whether there are any.
func (s *Scheduler) free(ctx context.Context, key model.UnitKey, unused []holding.Claim) bool {
	if len(unused) == 0 {
		return false
	}
	klog.V(2).InfoS("Freeing devices with which a unit cannot be placed", "unit", key, "claims", len(unused))
	group, _ := s.state.Groups.Get(key.Key)
	held := key
	if key.Group {
		held = s.state.UnitOfGroup(key.Key) // the tree must not be placed with these devices meanwhile
	}
	s.hold(held)
	s.runConcurrently(func() {
		var seen []*resource.ResourceClaim
		err := s.hasNotRun(ctx, key, group)
		if err == nil {
			seen, err = s.giveBackAll(ctx, unused)
		}
		s.feed.Enqueue(func() []model.Topic {
			topics := s.applyWritten(seen)
			if err != nil {
				klog.V(2).InfoS("Not all devices could be freed", "unit", key, "reason", err)
				s.retryLater(held, nil)
				return topics
			}
			s.release(held)
			return topics
		})
	})
	return true
}

// hasNotRun returns an error if the unit is a group that has run although the State does not show
// it. Caches may be behind, and a group keeps the devices that it has run with.
func (l *loop) hasNotRun(ctx context.Context, key model.UnitKey, seen *model.Group) error {
	if !key.Group || seen == nil || seen.Scheduled {
		return nil
	}
	group, err := l.status.groups.write.ReadGroup(ctx, key.Key)
	switch {
	case err != nil:
		return err
	case group != nil && group.UID == seen.UID && model.GroupFrom(group).Scheduled:
		return fmt.Errorf("PodGroup %s has run", key.Key)
	}
	return nil
}
