package holding

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// MayGiveBack reports whether a unit that was not placed gives back the devices that it does not
// use. A gang that has never run does so for any reason. All others keep them while they wait for
// pods or for their group.
func MayGiveBack(unit *model.Unit, reasons *sched.Reasons) bool {
	ran := unit.Group == nil || !unit.Group.Gang || unit.Group.Scheduled
	return !unit.HalfBound && (!ran || reasons.Code == sched.CodeUnschedulable)
}

// MayMove reports whether a unit that was not placed may look for other devices than it has. A
// gang that is bound in part is completed or rolled back first.
func MayMove(unit *model.Unit, reasons *sched.Reasons) bool {
	return !unit.HalfBound && (reasons.Code == sched.CodeUnschedulable || reasons.Code == sched.CodeWaiting)
}
