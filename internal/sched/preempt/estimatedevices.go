package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// heldDevice is a device that a victim has.
type heldDevice struct {
	pool   model.PoolID
	usable bool // the unit's pods could use it
}

// countDevices sets how many devices are missing. For one node that is known if each request needs
// devices of its own, and nothing else matters; otherwise it is known to be one or more. Several
// nodes may share a pool, so that there may be fewer devices than counted for them, and never more.
func (c *siteEstimate) countDevices(nodes []*model.NodeInfo) {
	needed, ok := c.demand.Least(c.unit.Min)
	if !ok || needed == 0 {
		return
	}
	free, exact := 0, true
	for _, info := range nodes {
		n, counted, insufficient := c.demand.Free(info)
		if !counted && (len(nodes) > 1 || !insufficient) {
			return
		}
		free, exact = free+n, exact && counted
	}
	c.exact, c.missing = exact, max(0, needed-free)
	if !exact {
		c.missing = 1
	}
	if c.missing == 0 {
		return
	}
	for _, info := range nodes {
		views := c.preemptor.trial.state.Devices.Pools(info)
		for i := range views {
			if !slices.Contains(c.pools, views[i].ID) {
				c.pools = append(c.pools, views[i].ID)
			}
		}
	}
}

// gain returns how many devices of a victim the unit could use. A device that several victims have
// counts for each.
func (c *siteEstimate) gain(v *victim) int {
	devices, known := c.held[v]
	if !known {
		devices = c.heldBy(v)
		c.held[v] = devices
	}
	n := 0
	for i := range devices {
		if slices.Contains(c.pools, devices[i].pool) && (devices[i].usable || !c.exact) {
			n++
		}
	}
	return n
}

// heldBy returns the devices that a victim has.
func (e *estimator) heldBy(v *victim) []heldDevice {
	var list []heldDevice
	v.eachClaim(e.preemptor.trial.state, func(claim *model.Claim) {
		for i := range claim.Allocation.Devices {
			id := model.DeviceIDOf(claim.Allocation.Devices[i])
			list = append(list, heldDevice{pool: id.PoolID(), usable: e.demand.CouldUse(id)})
		}
	})
	return list
}
