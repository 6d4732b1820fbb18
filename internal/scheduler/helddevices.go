package scheduler

import (
	"fmt"

	"github.com/allot-dev/allot/internal/commit"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// moveStep is the next step towards other devices for a unit.
type moveStep int

const (
	moveNothing  moveStep = iota
	moveFree              // free the devices that no pod uses
	moveEvict             // evict the survivors
	moveContinue          // continue the search in the next slice
)

// heldDevices is the devices that a unit has although it was not placed with them.
type heldDevices struct {
	idle []commit.HeldClaim // claims that no pod on a node uses
	used []commit.HeldClaim // claims that only survivors use
	// survivors are the members of a gang that run although the gang has lost others.
	survivors []*model.Pod
	// use describes how survivors that nothing would replace use a claim, or "".
	use string
	// broken describes the fault of the devices, or is "".
	broken string
	// stays: pods that are not evicted use broken devices.
	stays bool
}

// heldDevices returns the devices that a unit which was not placed has.
func (u claimUsage) heldDevices(placer *sched.Placer, unit *model.Unit) heldDevices {
	survivors, replaced := u.survivors(unit)
	held := heldDevices{survivors: survivors}
	for _, key := range u.allocatedOf(unit, unit.Group != nil) {
		claim, _ := u.state.Claims.Get(key)
		text := placer.Broken(unit, claim)
		user := placer.User(unit, key, nil)
		remains := user != nil && placer.User(unit, key, survivors) != nil
		switch {
		case user != nil && text != "" && (remains || !replaced):
			return heldDevices{broken: fmt.Sprintf("%s, and %s", text, placer.Use(user)), stays: true}
		case remains || !u.reservedOnlyFor(claim, unit, text != ""):
			continue
		case user == nil:
			held.idle = append(held.idle, commit.HeldClaim{Key: key, UID: claim.UID, Holders: claim.Consumers})
		default:
			held.used = append(held.used, commit.HeldClaim{Key: key, UID: claim.UID, Holders: claim.Consumers})
			if !replaced && held.use == "" {
				held.use = fmt.Sprintf("claim %s %s", key, placer.Use(user))
			}
		}
		if held.broken == "" {
			held.broken = text
		}
	}
	return held
}

// next returns the next step towards other devices, or records in the reasons why there is none.
// Survivors are evicted only if the unit fits neither with other devices while they run, nor with
// its own devices when pods that are being deleted have terminated.
func (h *heldDevices) next(placer *sched.Placer, unit *model.Unit, reasons *sched.Reasons) moveStep {
	if h.stays {
		reasons.Stay(h.broken, nil)
		return moveNothing
	}
	elsewhere := reasons
	if len(h.idle) > 0 {
		fits, then := placer.Elsewhere(unit, reasons, keysOf(h.idle), nil)
		switch {
		case fits:
			return moveFree
		case then.Unfinished:
			return moveContinue
		}
		elsewhere = then
	}
	if len(h.used) > 0 {
		fits, then := placer.Elsewhere(unit, reasons, append(keysOf(h.idle), keysOf(h.used)...), h.survivors)
		switch {
		case fits && h.use != "":
			reasons.Stay(h.use, nil)
			return moveNothing
		case fits:
			return h.relocate(placer, unit, reasons)
		case then.Unfinished:
			return moveContinue
		}
		elsewhere = then
	}
	if elsewhere != reasons {
		reasons.Stay(h.broken, elsewhere)
	}
	return moveNothing
}

// relocate returns the next step for a gang that fits as a whole with other devices.
func (h *heldDevices) relocate(placer *sched.Placer, unit *model.Unit, reasons *sched.Reasons) moveStep {
	soon, then := placer.FitsSoon(unit, reasons)
	switch {
	case soon:
		reasons.Stay(h.broken, nil)
		return moveNothing
	case then.Unfinished:
		return moveContinue
	}
	return moveEvict
}

func keysOf(claims []commit.HeldClaim) []model.Key {
	keys := make([]model.Key, 0, len(claims))
	for i := range claims {
		keys = append(keys, claims[i].Key)
	}
	return keys
}
