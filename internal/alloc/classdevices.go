package alloc

import "github.com/allot-dev/allot/internal/model"

// ClassDevices returns the devices of a pool that match all selectors of a class, whether or not
// they are free, tainted or of a usable pool. It reports whether the selectors could be evaluated on
// all devices; if not, the set is empty. The set must not be changed.
//
// Evaluations count against the cost limit since the last call of StartAttempt.
func (a *Allocator) ClassDevices(view *model.PoolView, class *model.Class) (devices model.Bits, known bool) {
	set := a.matcher.match(a.matcher.pool(view), a.matcher.filter(class.Selectors))
	if class.Unknown != "" || set.failed {
		return model.NewBits(len(view.Devices)), false
	}
	return set.devices, true
}
