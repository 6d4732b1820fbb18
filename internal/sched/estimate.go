package sched

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// estimator estimates which victims a site needs, by what can be counted: resources, devices and
// budgets. What must be tried (affinity, ports, rules among devices) can only require more
// important victims than these.
type estimator struct {
	room   *room
	unit   *model.Unit
	shapes []asked
	slots  []slot // nodes that are suitable for some shape
	at     map[string]int
	job    *job // what the unit's pods need of devices; nil if that is nothing
	held   map[*victim][]heldDevice
}

// asked is a shape of the unit's pods.
type asked struct {
	*nodefit.Fitter
	pods int
}

// slot is a node, with what it has left of the requests of each shape; nil where it is not
// suitable.
type slot struct {
	node *model.NodeInfo
	free []nodefit.Free
	in   *count // the current count that the node belongs to
}

// newEstimator examines the nodes with the trial at its base.
func (r *room) newEstimator(unit *model.Unit) *estimator {
	e := &estimator{room: r, unit: unit, at: map[string]int{}, held: map[*victim][]heldDevice{}}
	r.tx.UndoTo(r.base)
	for _, alike := range podsByShape(unit) {
		e.shapes = append(e.shapes, asked{Fitter: nodefit.New(r.state, alike[0].Shape), pods: len(alike)})
	}
	nodes := r.state.Nodes.List()
	e.slots = make([]slot, 0, len(nodes))
	for _, info := range nodes {
		if free := e.suits(info); free != nil {
			e.at[info.Name] = len(e.slots)
			e.slots = append(e.slots, slot{node: info, free: free})
		}
	}
	r.left -= len(e.shapes) * len(nodes) / victimsAStep
	if r.devices {
		e.job = r.placer.job(r.tx, unit, r.steps)
		e.job.gather()
		e.job.prepare()
	}
	return e
}

// suits returns what the node has left for each shape, or nil if it is suitable for none.
func (e *estimator) suits(info *model.NodeInfo) []nodefit.Free {
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

// guess sets the cost of preemption in a place as far as counting can tell, and reports whether it
// would be sufficient.
func (e *estimator) guess(at *place) bool {
	c := e.count(at.nodes)
	victims := at.victims
	if c.missing == 0 {
		victims = slices.Values(at.here)
	}
	if e.room.guarded {
		judged := slices.Collect(victims)
		e.room.judge(judged)
		victims = slices.Values(judged)
	}
	var gone []*victim
	ok := c.enough()
	for v := range victims {
		if ok {
			break
		}
		c.move(v, 1)
		gone = append(gone, v)
		ok = c.enough()
	}
	for i := len(gone) - 1; i >= 0 && ok; i-- { // the most important first, as in spare
		c.move(gone[i], -1)
		if c.enough() {
			gone = slices.Delete(gone, i, i+1)
		} else {
			c.move(gone[i], 1)
		}
	}
	for _, v := range gone {
		c.move(v, -1)
	}
	e.room.left -= len(gone) / victimsAStep
	at.guess = e.room.costOf(gone)
	return ok
}

// count is one place's part of an estimate.
type count struct {
	*estimator
	fits []int // by shape: how many pods fit

	missing int // devices; none if they are too complicated to be counted
	exact   bool
	pools   []model.PoolID // that the place can have devices of
}

func (e *estimator) count(nodes []*model.NodeInfo) *count {
	c := &count{estimator: e, fits: make([]int, len(e.shapes))}
	for _, info := range nodes {
		at, ok := e.at[info.Name]
		if !ok {
			continue
		}
		s := &e.slots[at]
		s.in = c
		for i := range e.shapes {
			if s.free[i] != nil {
				c.fits[i] += e.shapes[i].FitsInto(s.free[i])
			}
		}
	}
	if e.job != nil {
		c.countDevices(nodes)
	}
	return c
}

// enough reports whether the unit could be placed by all that is counted.
func (c *count) enough() bool {
	if c.missing > 0 {
		return false
	}
	members := 0
	for i := range c.shapes {
		members += min(c.shapes[i].pods, c.fits[i])
	}
	return members >= c.unit.Min
}

// move counts a victim out, or with sign -1 back in.
func (c *count) move(v *victim, sign int) {
	for _, pod := range v.pods {
		at, ok := c.at[pod.Node]
		if !ok || c.slots[at].in != c {
			continue
		}
		for i, free := range c.slots[at].free {
			if free != nil {
				c.fits[i] -= c.shapes[i].FitsInto(free)
				if sign > 0 {
					c.shapes[i].Add(free, pod)
				} else {
					c.shapes[i].Subtract(free, pod)
				}
				c.fits[i] += c.shapes[i].FitsInto(free)
			}
		}
	}
	if len(c.pools) > 0 {
		c.missing -= sign * c.gain(v)
	}
}
