package sched

import (
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// countDevices sets how many devices are missing. For one node that is known if each request needs
// devices of its own, and nothing else matters; otherwise it is known to be one or more. Several
// nodes may share a pool, so that there may be fewer devices than counted for them, and never more.
func (c *count) countDevices(nodes []*model.NodeInfo) {
	wanted, ok := c.wanted()
	if !ok || wanted == 0 {
		return
	}
	free, exact := 0, true
	for _, info := range nodes {
		n, counted, refused := c.free(info)
		if !counted && (len(nodes) > 1 || !refused) {
			return
		}
		free, exact = free+n, exact && counted
	}
	c.exact, c.missing = exact, max(0, wanted-free)
	if !exact {
		c.missing = 1
	}
	if c.missing == 0 {
		return
	}
	for _, info := range nodes {
		views := c.room.state.Devices.Pools(info)
		for i := range views {
			if !slices.Contains(c.pools, views[i].ID) {
				c.pools = append(c.pools, views[i].ID)
			}
		}
	}
}

// wanted returns how many devices the Min members with the fewest devices take.
func (c *count) wanted() (int, bool) {
	var each []int
	for _, class := range c.job.classes {
		n := class.devices()
		for range class.members {
			each = append(each, n)
		}
	}
	if len(each) < c.unit.Min {
		return 0, false
	}
	slices.Sort(each)
	sum := 0
	for _, n := range each[:c.unit.Min] {
		sum += n
	}
	return sum, true
}

// free returns how many devices the members could have on the node and whether counting is
// sufficient to know that; if it is not, whether the devices are insufficient.
func (c *count) free(info *model.NodeInfo) (n int, counted, refused bool) {
	counted = true
	for _, class := range c.job.classes {
		f := c.job.form(class, info)
		if f.problem == nil {
			return 0, false, false
		}
		free, ok := f.problem.CountFree(info)
		if n += free; !ok || class.extended != nil {
			_, offer := f.problem.FreeDevices(info)
			counted, refused = false, refused || offer == alloc.Insufficient
		}
	}
	return n, counted, refused
}

// gain returns how many devices of a victim the unit could use. A device that several victims have
// counts for each.
func (c *count) gain(v *victim) int {
	devices, known := c.held[v]
	if !known {
		devices = c.hold(v)
		c.held[v] = devices
	}
	n := 0
	for i := range devices {
		if slices.Contains(c.pools, devices[i].pool) && (devices[i].serves || !c.exact) {
			n++
		}
	}
	return n
}

// heldDevice is a device that a victim has.
type heldDevice struct {
	pool   model.PoolID
	serves bool // what the unit's pods need
}

func (e *estimator) hold(v *victim) []heldDevice {
	var list []heldDevice
	e.room.claimsOf(v, func(claim *model.Claim) {
		for i := range claim.Allocation.Devices {
			id := model.DeviceIDOf(claim.Allocation.Devices[i])
			list = append(list, heldDevice{pool: id.PoolID(), serves: e.serves(id)})
		}
	})
	return list
}

func (e *estimator) serves(id model.DeviceID) bool {
	return slices.ContainsFunc(e.job.classes, func(c *class) bool { return c.plain.problem != nil && c.plain.problem.CouldUse(id) })
}
