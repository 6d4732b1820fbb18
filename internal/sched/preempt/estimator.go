package preempt

import (
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/placement"
)

// estimator estimates which victims a site needs, by what can be counted: resources, devices and
// PodDisruptionBudgets. What must be tried (affinity, ports, constraints among devices) can only
// require more important victims than these.
type estimator struct {
	preemptor   *preemptor
	unit        *model.Unit
	shapes      []shapeCount
	nodes       []freeNode              // nodes that are suitable for some shape
	indices     map[string]int          // indices of nodes, by name
	demand      *placement.DeviceDemand // nil if the unit needs no devices
	heldDevices map[*victim][]heldDevice
	count       int // number of siteEstimates
}

// shapeCount is a shape of the unit's pods, and how many have it.
type shapeCount struct {
	*nodefit.Fitter
	pods int
}

// freeNode is a node, with what it has left of the requests of each shape; nil where it is not
// suitable.
type freeNode struct {
	info     *model.NodeInfo
	free     []nodefit.Free
	estimate int // number of the last siteEstimate that includes the node
}

// newEstimator examines the nodes with the trial at its base.
func newEstimator(p *preemptor, unit *model.Unit) *estimator {
	e := &estimator{preemptor: p, unit: unit, indices: map[string]int{}, heldDevices: map[*victim][]heldDevice{}}
	p.trial.reset()
	state := p.trial.state
	for _, pods := range podsByShape(unit) {
		e.shapes = append(e.shapes, shapeCount{Fitter: nodefit.New(state, pods[0].Shape), pods: len(pods)})
	}
	nodes := state.Nodes.List()
	e.nodes = make([]freeNode, 0, len(nodes))
	for _, info := range nodes {
		if free := e.freeOn(info); free != nil {
			e.indices[info.Name] = len(e.nodes)
			e.nodes = append(e.nodes, freeNode{info: info, free: free})
		}
	}
	p.stepsLeft -= len(e.shapes) * len(nodes) / victimsPerStep
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

// heldDevice is a device that a victim has.
type heldDevice struct {
	pool   model.PoolID
	usable bool // the unit's pods could use it
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
