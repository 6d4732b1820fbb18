package placement

import (
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// DeviceDemand is the number of devices that the pods of a unit require. It is for estimates that
// try nothing.
type DeviceDemand struct {
	input input
}

// NewDeviceDemand reads what the unit's pods need. Pods that cannot be tried are left out.
func NewDeviceDemand(caches *Caches, unit *model.Unit, options Options) *DeviceDemand {
	d := &DeviceDemand{input: input{scope: newScope(caches, unit, options)}}
	g := &gatherer{input: &d.input, reasons: &reason.Reasons{}}
	g.gather()
	g.prepare(func(model.Key) bool { return false })
	return d
}

// Least returns how many devices the n pods with the fewest devices take. It returns false if fewer
// pods can be tried.
func (d *DeviceDemand) Least(n int) (int, bool) {
	var each []int
	for _, c := range d.input.classes {
		least := c.minDevices()
		for range c.members {
			each = append(each, least)
		}
	}
	if len(each) < n {
		return 0, false
	}
	slices.Sort(each)
	sum := 0
	for _, devices := range each[:n] {
		sum += devices
	}
	return sum, true
}

// Free returns how many devices the pods could have on the node, and whether counting is sufficient
// to know that. If it is not, insufficient reports whether the node has too few devices.
func (d *DeviceDemand) Free(info *model.NodeInfo) (n int, counted, insufficient bool) {
	counted = true
	for _, c := range d.input.classes {
		f := c.form(info)
		if f.problem == nil {
			return 0, false, false
		}
		free, ok := f.problem.CountFree(info)
		if n += free; !ok || c.extended != nil {
			_, availability := f.problem.FreeDevices(info)
			counted, insufficient = false, insufficient || availability == alloc.Insufficient
		}
	}
	return n, counted, insufficient
}

// CouldUse reports whether some pod could use the device.
func (d *DeviceDemand) CouldUse(id model.DeviceID) bool {
	return slices.ContainsFunc(d.input.classes, func(c *podClass) bool {
		return c.plain.problem != nil && c.plain.problem.CouldUse(id)
	})
}
