package inventory

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// DeviceState is the availability of a device. A device is in the last of the states that apply.
type DeviceState int

const (
	// Free devices can be allocated.
	Free DeviceState = iota
	// Blocked devices are free, and cannot be allocated: their partition has no counters left, a
	// feature that they need is off, or their pool is incomplete or contradicts itself.
	Blocked
	// Tainted devices are free, and only requests with tolerations can have them.
	Tainted
	// Reserved devices are kept for a unit that waits for victims, or excluded for some time because
	// their binding conditions failed.
	Reserved
	// Allocated devices belong to one claim as a whole.
	Allocated
	// Shared devices have claims with shares of them.
	Shared
	// Broken devices belong to claims and are tainted.
	Broken
	// Doubled devices belong to several claims as a whole, which must never happen.
	Doubled
	// Unpublished devices belong to claims, and no ResourceSlice has them.
	Unpublished
	deviceStates int = iota
)

// String returns the state as the value of a label.
func (s DeviceState) String() string {
	return [...]string{
		"free", "blocked", "tainted", "reserved", "allocated", "shared", "broken", "doubled", "unpublished",
	}[s]
}

// DeviceStates returns all states.
func DeviceStates() []DeviceState {
	all := make([]DeviceState, deviceStates)
	for i := range all {
		all[i] = DeviceState(i)
	}
	return all
}

// stateOf returns the state of a published device.
func stateOf(view *model.PoolView, stock *alloc.PoolSummary, usable bool, device int) DeviceState {
	taint, _ := view.PreventingTaint(device)
	tainted := taint != nil
	if view.InUse().Has(device) {
		return heldState(view, device, tainted)
	}
	switch {
	case tainted:
		return Tainted
	case !usable || stock.UnavailableReason(device) != "":
		return Blocked
	}
	return Free
}

func heldState(view *model.PoolView, device int, tainted bool) DeviceState {
	claims := map[model.Key]bool{}
	for _, holder := range view.Holders(device) {
		if holder.Kind == model.ByClaim {
			claims[holder.Claim] = true
		}
	}
	_, whole := view.ConsumedCapacity(device)
	switch {
	case len(claims) == 0:
		return Reserved
	case whole && len(claims) > 1:
		return Doubled
	case tainted:
		return Broken
	case whole:
		return Allocated
	}
	return Shared
}

// statesOf returns the states of a pool's devices.
func statesOf(view *model.PoolView) []DeviceState {
	states := make([]DeviceState, len(view.Devices))
	stock, usable := alloc.NewPoolSummary(view), view.IsUsable()
	for i := range states {
		states[i] = stateOf(view, stock, usable, i)
	}
	return states
}
