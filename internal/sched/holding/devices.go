package holding

import (
	"fmt"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// Step is the next step towards other devices for a unit.
type Step int

// The steps of a unit.
const (
	Nothing  Step = iota
	Free          // free the devices that no pod uses
	Evict         // evict the survivors
	Continue      // continue the search in the next slice
)

// Devices are the devices that a unit has although it was not placed with them.
type Devices struct {
	Idle []Claim // claims that no pod on a node uses
	used []Claim // claims that only survivors use
	// Survivors are the members of a gang that run although the gang has lost others.
	Survivors []*model.Pod
	// use describes how survivors that nothing would replace use a claim, or "".
	use string
	// broken describes the fault of the devices, or is "".
	broken string
	// stays: pods that are not evicted use broken devices.
	stays bool
}

// Held returns the devices that a unit which was not placed has.
func (u Usage) Held(placer *sched.Placer, unit *model.Unit) Devices {
	survivors, replaced := u.survivors(unit)
	held := Devices{Survivors: survivors}
	for _, key := range u.allocatedOf(unit, unit.Group != nil) {
		claim, _ := u.State.Claims.Get(key)
		text := placer.Broken(unit, claim)
		user := placer.User(unit, key, nil)
		remains := user != nil && placer.User(unit, key, survivors) != nil
		switch {
		case user != nil && text != "" && (remains || !replaced):
			return Devices{broken: fmt.Sprintf("%s, and %s", text, placer.Use(user)), stays: true}
		case remains || !u.reservedOnlyFor(claim, unit, text != ""):
			continue
		case user == nil:
			held.Idle = append(held.Idle, Claim{Key: key, UID: claim.UID, Holders: claim.Consumers})
		default:
			held.used = append(held.used, Claim{Key: key, UID: claim.UID, Holders: claim.Consumers})
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

// Next returns the next step towards other devices, or records in the reasons why there is none.
// Survivors are evicted only if the unit fits neither with other devices while they run, nor with
// its own devices when pods that are being deleted have terminated.
func (d *Devices) Next(placer *sched.Placer, unit *model.Unit, reasons *sched.Reasons) Step {
	if d.stays {
		reasons.Stay(d.broken, nil)
		return Nothing
	}
	elsewhere := reasons
	if len(d.Idle) > 0 {
		fits, then := placer.Elsewhere(unit, reasons, keysOf(d.Idle), nil)
		switch {
		case fits:
			return Free
		case then.Unfinished:
			return Continue
		}
		elsewhere = then
	}
	if len(d.used) > 0 {
		fits, then := placer.Elsewhere(unit, reasons, append(keysOf(d.Idle), keysOf(d.used)...), d.Survivors)
		switch {
		case fits && d.use != "":
			reasons.Stay(d.use, nil)
			return Nothing
		case fits:
			return d.relocate(placer, unit, reasons)
		case then.Unfinished:
			return Continue
		}
		elsewhere = then
	}
	if elsewhere != reasons {
		reasons.Stay(d.broken, elsewhere)
	}
	return Nothing
}

// relocate returns the next step for a gang that fits as a whole with other devices.
func (d *Devices) relocate(placer *sched.Placer, unit *model.Unit, reasons *sched.Reasons) Step {
	soon, then := placer.FitsSoon(unit, reasons)
	switch {
	case soon:
		reasons.Stay(d.broken, nil)
		return Nothing
	case then.Unfinished:
		return Continue
	}
	return Evict
}

func keysOf(claims []Claim) []model.Key {
	keys := make([]model.Key, 0, len(claims))
	for i := range claims {
		keys = append(keys, claims[i].Key)
	}
	return keys
}
