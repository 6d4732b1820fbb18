package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/placement"
)

// estimator estimates which victims a site needs, by what can be counted: resources, devices and
// PodDisruptionBudgets. What must be tried (affinity, ports, constraints among devices) can only
// require more important victims than these.
type estimator struct {
	preemptor *preemptor
	unit      *model.Unit
	shapes    []shapeCount
	nodes     []freeNode // that are suitable for some shape
	at        map[string]int
	demand    *placement.DeviceDemand // nil if the unit needs no devices
	held      map[*victim][]heldDevice
}

// shapeCount is a shape of the unit's pods, and how many have it.
type shapeCount struct {
	*nodefit.Fitter
	pods int
}

// freeNode is a node, with what it has left of the requests of each shape; nil where it is not
// suitable.
type freeNode struct {
	info *model.NodeInfo
	free []nodefit.Free
	in   *siteEstimate // the current estimate that the node belongs to
}

// newEstimator examines the nodes with the trial at its base.
func newEstimator(p *preemptor, unit *model.Unit) *estimator {
	e := &estimator{preemptor: p, unit: unit, at: map[string]int{}, held: map[*victim][]heldDevice{}}
	p.trial.reset()
	state := p.trial.state
	for _, pods := range podsByShape(unit) {
		e.shapes = append(e.shapes, shapeCount{Fitter: nodefit.New(state, pods[0].Shape), pods: len(pods)})
	}
	nodes := state.Nodes.List()
	e.nodes = make([]freeNode, 0, len(nodes))
	for _, info := range nodes {
		if free := e.freeOn(info); free != nil {
			e.at[info.Name] = len(e.nodes)
			e.nodes = append(e.nodes, freeNode{info: info, free: free})
		}
	}
	p.left -= len(e.shapes) * len(nodes) / victimsPerStep
	if p.trial.needsDevices {
		e.demand = placement.NewDeviceDemand(p.caches, unit, p.options)
	}
	return e
}

// freeOn returns what the node has left for each shape, or nil if it is suitable for none.
func (e *estimator) freeOn(info *model.NodeInfo) []nodefit.Free {
	var free []nodefit.Free
	for i := range e.shapes {
		if e.shapes[i].Static(info).Failed() {
			continue
		}
		if free == nil {
			free = make([]nodefit.Free, len(e.shapes))
		}
		free[i] = e.shapes[i].FreeOf(info)
	}
	return free
}

// estimate sets the cost of preemption at a site as far as counting can tell, and reports whether the
// victims there could be sufficient.
func (e *estimator) estimate(site *victimSite) bool {
	p := e.preemptor
	c := e.newSiteEstimate(site.nodes)
	victims := site.victims
	if c.missing == 0 {
		victims = slices.Values(site.here)
	}
	if p.pool.guarded {
		marked := slices.Collect(victims)
		p.budgets.markViolations(marked)
		victims = slices.Values(marked)
	}
	var evicted []*victim
	ok := c.isEnough()
	for v := range victims {
		if ok {
			break
		}
		c.evict(v)
		evicted = append(evicted, v)
		ok = c.isEnough()
	}
	for i := len(evicted) - 1; i >= 0 && ok; i-- { // the most important first, as in reprieve
		c.putBack(evicted[i])
		if c.isEnough() {
			evicted = slices.Delete(evicted, i, i+1)
		} else {
			c.evict(evicted[i])
		}
	}
	for _, v := range evicted {
		c.putBack(v)
	}
	p.left -= len(evicted) / victimsPerStep
	site.estimate = p.budgets.costOf(evicted)
	return ok
}

// siteEstimate is the part of an estimate for one site.
type siteEstimate struct {
	*estimator
	fits []int // by shape: how many pods fit

	missing int // devices; none if they are too complicated to be counted
	exact   bool
	pools   []model.PoolID // of which the site can have devices
}

func (e *estimator) newSiteEstimate(nodes []*model.NodeInfo) *siteEstimate {
	c := &siteEstimate{estimator: e, fits: make([]int, len(e.shapes))}
	for _, info := range nodes {
		at, ok := e.at[info.Name]
		if !ok {
			continue
		}
		node := &e.nodes[at]
		node.in = c
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
func (c *siteEstimate) evict(v *victim) { c.count(v, 1) }

// putBack reverts evict.
func (c *siteEstimate) putBack(v *victim) { c.count(v, -1) }

// count adds what a victim has to what is free, or subtracts it if sign is -1.
func (c *siteEstimate) count(v *victim, sign int) {
	for _, pod := range v.pods {
		at, ok := c.at[pod.Node]
		if !ok || c.nodes[at].in != c {
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
