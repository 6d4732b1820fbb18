package sched

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// devicesName stands for devices among resources, when both are added up.
const devicesName corev1.ResourceName = "devices"

// bound gathers what can be counted of the classes together.
type bound struct {
	members int                  // each class by itself has room for so many at most
	nodes   map[string]bool      // that some class could use
	free    model.Resources      // of these nodes together
	pools   map[model.PoolID]int // devices that some class could use
}

// bound counts for the classes that are not left out, as the trial stands.
func (j *job) bound() *bound {
	b := &bound{nodes: map[string]bool{}, free: model.Resources{}, pools: map[model.PoolID]int{}}
	for _, c := range j.in() {
		b.add(j, c)
	}
	for _, n := range b.pools {
		b.free[devicesName] += int64(n)
	}
	return b
}

// refuted says whether counting proves that Min members cannot be placed, whatever is tried.
func (j *job) refuted() bool {
	b := j.bound()
	return b.members < j.unit.Min || !j.fitsInTotal(b.free)
}

// hopeless says whether counting proves that an attempt can place no more members than one before it did.
func (j *job) hopeless() bool {
	if len(j.bundles) == 0 || j.bestReason == nil {
		return false
	}
	return j.bound().members <= max(j.bestPlaced, j.bestReason.Placed)
}

// add counts for one class: by what nodes have left, and by devices that its own claims could have.
func (b *bound) add(j *job, c *class) {
	room := 0
	pools := map[model.PoolID]int{}
	for _, info := range j.possible(c) {
		fits := fitting(c.fitter.shape.Requests, info.Free)
		if fits == 0 || !b.devices(c, info, pools) {
			continue
		}
		room += fits
		if b.nodes[info.Name] {
			continue
		}
		b.nodes[info.Name] = true
		for name, amount := range info.Free {
			b.free[name] += max(0, amount)
		}
	}
	if wanted := c.devices(); wanted > 0 {
		free := 0
		for _, n := range pools {
			free += n
		}
		room = min(room, free/wanted)
	}
	for pool, n := range pools {
		b.pools[pool] = max(b.pools[pool], n)
	}
	b.members += min(room, len(c.members))
}

// devices counts the node's free devices by pool, and says whether one member at least could have its own.
func (b *bound) devices(c *class, info *model.NodeInfo, pools map[model.PoolID]int) bool {
	if c.problem == nil {
		return true
	}
	board, reason := c.problem.On(info)
	if reason != nil {
		return false
	}
	here := map[model.PoolID]int{}
	board.Free(func(pool model.PoolID, n int) { here[pool] += n })
	for pool, n := range here {
		pools[pool] = max(pools[pool], n)
	}
	return true
}

// devices is how many devices a member's own claims take at least.
func (c *class) devices() int {
	if c.problem == nil {
		return 0
	}
	return c.problem.Least()
}

// fitsInTotal says whether the Min members that ask for the least of a resource find it on all nodes together.
func (j *job) fitsInTotal(free model.Resources) bool {
	asked := map[corev1.ResourceName][]int64{}
	for _, c := range j.in() {
		for range c.members {
			for name, amount := range c.fitter.shape.Requests {
				asked[name] = append(asked[name], amount)
			}
			asked[devicesName] = append(asked[devicesName], int64(c.devices()))
		}
	}
	members := j.inCount()
	for name, amounts := range asked {
		slices.Sort(amounts)
		// Members that ask for nothing are not in the list.
		least := max(0, j.unit.Min-(members-len(amounts)))
		sum := int64(0)
		for _, amount := range amounts[:least] {
			sum += amount
		}
		if sum > free[name] {
			return false
		}
	}
	return true
}

// fitting is how often the requests fit into what is free.
func fitting(requests, free model.Resources) int {
	fits := int64(math.MaxInt32)
	for name, wanted := range requests {
		fits = min(fits, max(0, free[name])/wanted)
	}
	return int(fits)
}
