package placement

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// devicesName represents devices among resources, when both are summed.
const devicesName corev1.ResourceName = "devices"

// capacity is the countable capacity for some classes together. It proves that a search is futile.
type capacity struct {
	members int             // the most that can be placed, counted for each class by itself
	nodes   map[string]bool // nodes that some class could use
	free    model.Resources // resources of these nodes together
	devices freeDevices     // devices that some class could use
}

// freeDevices has for each device of a pool how many requests it could serve, by its index. Classes
// and nodes that could use the same devices count them once, and others add to them.
type freeDevices map[model.PoolID][]int

func (f freeDevices) add(pool model.PoolID, device, requests int) {
	list := f[pool]
	if missing := device + 1 - len(list); missing > 0 {
		list = append(list, make([]int, missing)...)
		f[pool] = list
	}
	list[device] = max(list[device], requests)
}

func (f freeDevices) addAll(other freeDevices) {
	for pool, list := range other {
		for device, requests := range list {
			f.add(pool, device, requests)
		}
	}
}

func (f freeDevices) total() int {
	sum := 0
	for _, list := range f {
		for _, requests := range list {
			sum += requests
		}
	}
	return sum
}

// capacityFor counts for some classes. With together set, it counts also for how many members
// together each node has devices.
func capacityFor(classes []*podClass, together bool) *capacity {
	sum := &capacity{nodes: map[string]bool{}, free: model.Resources{}, devices: freeDevices{}}
	for _, c := range classes {
		sum.add(c, together)
	}
	sum.free[devicesName] += int64(sum.devices.total())
	return sum
}

// refutes reports whether counting proves that target members of some classes cannot be placed,
// whatever is tried.
func refutes(classes []*podClass, target int) bool {
	sum := capacityFor(classes, true)
	return sum.members < target || !sum.fitsInTotal(classes, target)
}

// add counts for one class: what nodes have left, and devices that its own claims could have.
func (ca *capacity) add(c *podClass, together bool) {
	pods, devices := c.capacity(c.usableNodes(), together, func(info *model.NodeInfo) {
		if ca.nodes[info.Name] {
			return
		}
		ca.nodes[info.Name] = true
		for name, amount := range info.Free {
			ca.free[name] = model.AddAmounts(ca.free[name], max(0, amount))
		}
	})
	ca.devices.addAll(devices)
	ca.members += min(pods, len(c.members))
}

// fitsInTotal reports whether the smallest target requests for each resource fit into the sum over
// all nodes.
func (ca *capacity) fitsInTotal(classes []*podClass, target int) bool {
	requested := map[corev1.ResourceName][]int64{}
	for _, c := range classes {
		for range c.members {
			for _, r := range c.fitter.List() {
				if !r.Offered {
					requested[r.Name] = append(requested[r.Name], r.Amount)
				}
			}
			requested[devicesName] = append(requested[devicesName], int64(c.minDevices()))
		}
	}
	members := countMembers(classes)
	for name, amounts := range requested {
		slices.Sort(amounts)
		// Members that request nothing are not in the list.
		least := max(0, target-(members-len(amounts)))
		sum := int64(0)
		for _, amount := range amounts[:least] {
			sum = model.AddAmounts(sum, amount)
		}
		if sum > ca.free[name] {
			return false
		}
	}
	return true
}

// capacity returns an upper bound of the number of pods of the class that fit on some nodes, and
// the devices that these could have there. It calls used with each node on which any fits. See
// capacityFor for together.
func (c *podClass) capacity(
	nodes []*model.NodeInfo, together bool, used func(*model.NodeInfo),
) (int, freeDevices) {
	pods, devices := 0, freeDevices{}
	for _, info := range nodes {
		fits := c.fitter.Fits(info)
		if fits == 0 || !c.addFreeDevices(info, devices) {
			continue
		}
		if together {
			fits = c.maxCopies(info, fits)
		}
		pods += fits
		used(info)
	}
	if least := c.minDevices(); least > 0 {
		pods = min(pods, devices.total()/least)
	}
	return pods, devices
}

// addFreeDevices adds the free devices that the node offers, and reports whether at least one
// member could have its own devices.
func (c *podClass) addFreeDevices(info *model.NodeInfo, devices freeDevices) bool {
	f := c.form(info)
	if f.problem == nil {
		return f.reason == nil
	}
	offer, reason := f.problem.NodeOffer(info)
	if reason != nil {
		return false
	}
	offer.EachDevice(devices.add)
	return true
}

// lacksDevices reports whether there are too few free devices for Min members even if all nodes had
// enough resources.
func (in *input) lacksDevices() bool {
	members := 0
	for _, c := range in.classes {
		if c.minDevices() == 0 {
			members += len(c.members)
			continue
		}
		devices := freeDevices{}
		for _, info := range c.suitableNodes().Nodes {
			c.addFreeDevices(info, devices)
		}
		members += min(len(c.members), devices.total()/c.minDevices())
	}
	return members < in.unit.Min
}
