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
func (e *siteEstimate) isEnough() bool {
	if e.missing > 0 {
		return false
	}
	members := 0
	for i := range e.shapes {
		members += min(e.shapes[i].pods, e.fits[i])
	}
	return members >= e.unit.Min
}

// evict counts what is free without a victim.
func (e *siteEstimate) evict(v *victim) { e.add(v, 1) }

// putBack reverts evict.
func (e *siteEstimate) putBack(v *victim) { e.add(v, -1) }

// add adds what a victim has to what is free, or subtracts it if sign is -1.
func (e *siteEstimate) add(v *victim, sign int) {
	for _, pod := range v.pods {
		at, ok := e.indices[pod.Node]
		if !ok || e.nodes[at].estimate != e.number {
			continue
		}
		for i, free := range e.nodes[at].free {
			if free == nil {
				continue
			}
			e.fits[i] -= e.shapes[i].FitsInto(free)
			if sign > 0 {
				e.shapes[i].Add(free, pod)
			} else {
				e.shapes[i].Subtract(free, pod)
			}
			e.fits[i] += e.shapes[i].FitsInto(free)
		}
	}
	if len(e.pools) > 0 {
		e.missing -= sign * e.gain(v)
	}
}

// countDevices sets how many devices are missing. For one node that is known if each request needs
// devices of its own, and nothing else matters; otherwise it is known to be one or more. Several
// nodes may share a pool, so that there may be fewer devices than counted for them, and never more.
func (e *siteEstimate) countDevices(nodes []*model.NodeInfo) {
	needed, ok := e.demand.Least(e.unit.Min)
	if !ok || needed == 0 {
		return
	}
	free, exact := 0, true
	for _, info := range nodes {
		n, counted, insufficient := e.demand.Free(info)
		if !counted && (len(nodes) > 1 || !insufficient) {
			return
		}
		free, exact = free+n, exact && counted
	}
	e.exact, e.missing = exact, max(0, needed-free)
	if !exact {
		e.missing = 1
	}
	if e.missing == 0 {
		return
	}
	for _, info := range nodes {
		views := e.preemptor.trial.state.Devices.Pools(info)
		for i := range views {
			if !slices.Contains(e.pools, views[i].ID) {
				e.pools = append(e.pools, views[i].ID)
			}
		}
	}
}

// gain returns how many devices of a victim the unit could use. A device that several victims have
// counts for each.
func (e *siteEstimate) gain(v *victim) int {
	devices, known := e.heldDevices[v]
	if !known {
		devices = e.heldBy(v)
		e.heldDevices[v] = devices
	}
	n := 0
	for i := range devices {
		if slices.Contains(e.pools, devices[i].pool) && (devices[i].usable || !e.exact) {
			n++
		}
	}
	return n
}
