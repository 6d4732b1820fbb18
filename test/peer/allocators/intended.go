package allocators

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// intended are the differences listed in DIFFERENCES.md: for each, a property of the world and of
// the comparison. A row that explains nothing must be removed.
var intended = []struct {
	why      string
	outcomes []Outcome
	applies  func(*World, Comparison) bool
}{
	{"upstream fails where not all devices can be allocated", []Outcome{Error}, func(w *World, _ Comparison) bool {
		return w.wants(func(o *resourcev1.ExactDeviceRequest) bool {
			return o.AllocationMode == resourcev1.DeviceAllocationModeAll
		})
	}},
	{
		"upstream uses a later alternative before it tries other devices for an earlier request",
		[]Outcome{Other},
		func(_ *World, c Comparison) bool {
			return c.earlier
		},
	},
	{
		"admin access uses nothing here: no counters, no capacity, and no device of other claims",
		[]Outcome{OnlyHere, Refused},
		func(w *World, _ Comparison) bool {
			admin := w.wants(func(o *resourcev1.ExactDeviceRequest) bool { return o.AdminAccess != nil })
			return admin && (len(w.Claims) > 1 || w.Has(Counters) || w.Has(Shares))
		},
	},
	{
		"an overspent counter excludes only the devices that consume it",
		[]Outcome{OnlyHere, Refused},
		func(w *World, _ Comparison) bool {
			return w.overspent()
		},
	},
	{
		"upstream fails where a request is not representable in a range",
		[]Outcome{Error},
		func(w *World, _ Comparison) bool {
			return w.Has(Huge) && w.Has(Shares)
		},
	},
	{
		"a device in use that is no longer published may consume any of its pool's counters",
		[]Outcome{OnlyUpstream, Other},
		func(w *World, _ Comparison) bool {
			return w.Has(Gone) && w.Has(Counters)
		},
	},
	{
		"a pool that publishes a device twice is not used, even if the two are on different nodes",
		[]Outcome{OnlyUpstream, Other},
		func(w *World, _ Comparison) bool {
			return w.Has(Twice)
		},
	},
}

// explain returns the intended difference that explains an outcome.
func explain(w *World, c Comparison) string {
	for _, difference := range intended {
		if slices.Contains(difference.outcomes, c.Outcome) && difference.applies(w, c) {
			return difference.why
		}
	}
	return ""
}

// wants reports whether a request of some claim has a property.
func (w *World) wants(is func(o *resourcev1.ExactDeviceRequest) bool) bool {
	found := false
	for _, claim := range w.Claims {
		options(claim, func(_, _ string, o *resourcev1.ExactDeviceRequest) { found = found || is(o) })
	}
	return found
}

// overspent reports whether devices in use consume more than a counter has.
func (w *World) overspent() bool {
	left := map[string]resource.Quantity{}
	for _, slice := range w.Slices {
		for _, set := range slice.Spec.SharedCounters {
			for name, counter := range set.Counters {
				left[slice.Spec.Driver+"/"+slice.Spec.Pool.Name+"/"+set.Name+"/"+name] = counter.Value.DeepCopy()
			}
		}
	}
	charged := map[*resourcev1.Device]bool{}
	for _, claim := range w.Holders {
		result := claim.Status.Allocation.Devices.Results[0]
		device, _ := w.device(result.Driver, result.Pool, result.Device)
		if device == nil || result.AdminAccess != nil || charged[device] {
			continue
		}
		charged[device] = true
		for _, consumed := range device.ConsumesCounters {
			for name, counter := range consumed.Counters {
				id := result.Driver + "/" + result.Pool + "/" + consumed.CounterSet + "/" + name
				amount := left[id]
				amount.Sub(counter.Value)
				if left[id] = amount; amount.Sign() < 0 {
					return true
				}
			}
		}
	}
	return false
}
