package sched

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// devicesName stands for devices among resources, when both are added up.
const devicesName corev1.ResourceName = "devices"

// bound is what can be counted of the classes together.
type bound struct {
	members int                  // each class by itself has room for so many at most
	nodes   map[string]bool      // that some class could use
	free    model.Resources      // of these nodes together
	pools   map[model.PoolID]int // devices that some class could use
}

// bound counts for the classes that are not excluded, as the trial stands; with together set, also
// the devices that nodes have for several members together.
func (j *job) bound(together bool) *bound {
	b := &bound{nodes: map[string]bool{}, free: model.Resources{}, pools: map[model.PoolID]int{}}
	for _, c := range j.in() {
		b.add(j, c, together)
	}
	for _, n := range b.pools {
		b.free[devicesName] += int64(n)
	}
	return b
}

// refuted reports whether counting proves that target members cannot be placed, whatever is tried.
func (j *job) refuted(target int) bool {
	b := j.bound(true)
	return b.members < target || !j.fitsInTotal(b.free, target)
}

// hopeless reports whether counting proves that an attempt can place no more members than an
// earlier one, and how many it can.
func (j *job) hopeless() (most int, hopeless bool) {
	if j.bestReason == nil {
		return 0, false
	}
	most = j.bound(false).members
	return most, most <= max(j.bestPlaced, j.bestReason.Placed)
}

// add counts for one class: by what nodes have left, and by devices that its own claims could have.
func (b *bound) add(j *job, c *class, together bool) {
	room, pools := j.room(c, j.possible(c), together, func(info *model.NodeInfo) {
		if b.nodes[info.Name] {
			return
		}
		b.nodes[info.Name] = true
		for name, amount := range info.Free {
			b.free[name] = model.AddAmounts(b.free[name], max(0, amount))
		}
	})
	for pool, n := range pools {
		b.pools[pool] = max(b.pools[pool], n)
	}
	b.members += min(room, len(c.members))
}

// room returns for how many pods of the class the nodes have room at most, and which devices these
// could have there. used is called with each node that has room for any. See bound for together.
func (j *job) room(c *class, nodes []*model.NodeInfo, together bool, used func(*model.NodeInfo)) (int, map[model.PoolID]int) {
	room := 0
	var pools map[model.PoolID]int
	if c.wantsDevices() {
		pools = map[model.PoolID]int{}
	}
	for _, info := range nodes {
		fits := c.fitter.Fits(info)
		if fits == 0 || !j.freeDevices(c, info, pools) {
			continue
		}
		if together {
			fits = j.copiesOn(c, info, fits)
		}
		room += fits
		used(info)
	}
	if wanted := c.devices(); wanted > 0 {
		free := 0
		for _, n := range pools {
			free += n
		}
		room = min(room, free/wanted)
	}
	return room, pools
}

// lacksDevices reports whether there are too few free devices for Min members even if all nodes had
// room.
func (j *job) lacksDevices() bool {
	members := 0
	for _, c := range j.classes {
		if c.devices() == 0 {
			members += len(c.members)
			continue
		}
		pools, free := map[model.PoolID]int{}, 0
		for _, info := range j.suited(c).Nodes {
			j.freeDevices(c, info, pools)
		}
		for _, n := range pools {
			free += n
		}
		members += min(len(c.members), free/c.devices())
	}
	return members < j.unit.Min
}

// freeDevices counts the node's free devices by pool, and reports whether at least one member could
// have its own.
func (j *job) freeDevices(c *class, info *model.NodeInfo, pools map[model.PoolID]int) bool {
	f := j.form(c, info)
	if f.problem == nil {
		return f.reason == nil
	}
	board, reason := f.problem.NodeOffer(info)
	if reason != nil {
		return false
	}
	here := map[model.PoolID]int{}
	board.EachFree(func(pool model.PoolID, n int) { here[pool] += n })
	for pool, n := range here {
		pools[pool] = max(pools[pool], n)
	}
	return true
}

// fitsInTotal reports whether the smallest target requests for each resource fit into the sum over
// all nodes.
func (j *job) fitsInTotal(free model.Resources, target int) bool {
	asked := map[corev1.ResourceName][]int64{}
	for _, c := range j.in() {
		for range c.members {
			for _, r := range c.fitter.List() {
				if !r.Offered {
					asked[r.Name] = append(asked[r.Name], r.Amount)
				}
			}
			asked[devicesName] = append(asked[devicesName], int64(c.devices()))
		}
	}
	members := j.inCount()
	for name, amounts := range asked {
		slices.Sort(amounts)
		// Members that request nothing are not in the list.
		least := max(0, target-(members-len(amounts)))
		sum := int64(0)
		for _, amount := range amounts[:least] {
			sum = model.AddAmounts(sum, amount)
		}
		if sum > free[name] {
			return false
		}
	}
	return true
}
