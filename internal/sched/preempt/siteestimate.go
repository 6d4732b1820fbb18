package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// siteEstimate is the part of an estimate for one site.
type siteEstimate struct {
	*estimator
	number int   // see freeNode
	fits   []int // number of pods that fit, by shape

	missing int            // devices; 0 if they cannot be counted
	exact   bool           // missing is not only a lower bound
	pools   []model.PoolID // pools of which the site can have devices
}

// newSiteEstimate counts what is free at a site before any eviction.
func (e *estimator) newSiteEstimate(nodes []*model.NodeInfo) *siteEstimate {
	e.count++
	c := &siteEstimate{estimator: e, number: e.count, fits: make([]int, len(e.shapes))}
	for _, info := range nodes {
		at, ok := e.indices[info.Name]
		if !ok {
			continue
		}
		node := &e.nodes[at]
		node.estimate = c.number
		for i := range e.shapes {
			if node.free[i] != nil {
				c.fits[i] += e.shapes[i].FitsInto(node.free[i])
			}
		}
	}
	if e.demand != nil {
		c.countDevices(nodes)
	}
	return c
}

// isEnough reports whether the unit could be placed by all that is counted.
func (c *siteEstimate) isEnough() bool {
	if c.missing > 0 {
		return false
	}
	members := 0
	for i := range c.shapes {
		members += min(c.shapes[i].pods, c.fits[i])
	}
	return members >= c.unit.Min
}

// evict counts what is free without a victim.
func (c *siteEstimate) evict(v *victim) { c.add(v, 1) }

// putBack reverts evict.
func (c *siteEstimate) putBack(v *victim) { c.add(v, -1) }

// add adds what a victim has to what is free, or subtracts it if sign is -1.
func (c *siteEstimate) add(v *victim, sign int) {
	for _, pod := range v.pods {
		at, ok := c.indices[pod.Node]
		if !ok || c.nodes[at].estimate != c.number {
			continue
		}
		for i, free := range c.nodes[at].free {
			if free == nil {
				continue
			}
			c.fits[i] -= c.shapes[i].FitsInto(free)
			if sign > 0 {
				c.shapes[i].Add(free, pod)
			} else {
				c.shapes[i].Subtract(free, pod)
			}
			c.fits[i] += c.shapes[i].FitsInto(free)
		}
	}
	if len(c.pools) > 0 {
		c.missing -= sign * c.gain(v)
	}
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
	devices, known := c.heldDevices[v]
	if !known {
		devices = c.heldBy(v)
		c.heldDevices[v] = devices
	}
	n := 0
	for i := range devices {
		if slices.Contains(c.pools, devices[i].pool) && (devices[i].usable || !c.exact) {
			n++
		}
	}
	return n
}
