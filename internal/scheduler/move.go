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
//
// The survivors of a gang are evicted first, so that the gang can be placed as a whole.
func (s *Scheduler) move(ctx context.Context, entry queue.Entry, unit *model.Unit, reasons *sched.Reasons) bool {
	if unit.HalfBound || reasons.Code != sched.CodeUnschedulable && reasons.Code != sched.CodeWaiting {
		return false
	}
	held := s.usage.heldDevices(s.placer, unit)
	if held.stays {
		reasons.Stay(held.broken, nil)
		return false
	}
	if len(held.claims) == 0 {
		return false
	}
	fits, elsewhere := s.placer.Elsewhere(unit, reasons, held.keys(), held.survivors)
	if fits && len(held.survivors) > 0 {
		soon, then := s.placer.FitsSoon(unit, reasons)
		fits, elsewhere = !soon && !then.Unfinished, then
	}
	switch {
	case fits && held.use != "":
		reasons.Stay(held.use, nil)
		return false
	case fits && len(held.survivors) > 0:
		s.evictFor(ctx, unit.Key, evictionOfSurvivors(unit, held.survivors))
		return true
	case fits:
		return s.free(ctx, unit.Key, held.claims)
	case elsewhere.Unfinished:
		s.queue.Add(entry.Deferred())
		return true
	}
	reasons.Stay(held.broken, elsewhere)
	return false
}

// heldDevices is the devices that a unit has although it was not placed with them.
type heldDevices struct {
	claims []commit.HeldClaim // that can be freed
	// survivors are the members of a gang that use the claims; they are evicted before the claims
	// are freed.
	survivors []*model.Pod
	// use describes how survivors use a claim that nothing would replace, or "".
	use string
	// broken describes the fault of the devices, or is "".
	broken string
	// stays: pods that are not evicted use broken devices.
	stays bool
}

func (h heldDevices) keys() []model.Key {
	var keys []model.Key
	for i := range h.claims {
		keys = append(keys, h.claims[i].Key)
	}
	return keys
}

// heldDevices returns the devices that a unit which was not placed has.
func (u claimUsage) heldDevices(placer *sched.Placer, unit *model.Unit) heldDevices {
	held := heldDevices{}
	replaced := false
	held.survivors, replaced = u.survivors(unit)
	for _, key := range u.allocatedOf(unit, unit.Group != nil) {
		claim, _ := u.state.Claims.Get(key)
		text := placer.Broken(unit, claim)
		user := placer.User(unit, key, held.survivors)
		evicted := user == nil && len(held.survivors) > 0
		if evicted && !replaced {
			user = placer.User(unit, key, nil)
		}
		switch {
		case user != nil && text != "":
			return heldDevices{broken: fmt.Sprintf("%s, and %s", text, placer.Use(user)), stays: true}
		case user != nil && !evicted:
			continue
		case user != nil && held.use == "":
			held.use = fmt.Sprintf("claim %s %s", key, placer.Use(user))
		}
		if held.broken == "" {
			held.broken = text
		}
		if u.reservedOnlyFor(claim, unit, text != "") {
			held.claims = append(held.claims, commit.HeldClaim{Key: key, UID: claim.UID, Holders: claim.Consumers})
		}
	}
	return held
}
