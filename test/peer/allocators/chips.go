package allocators

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
)

// chips describes devices that are blocks of chips, small ones within larger ones. Counters have
// the free chips of each unit, a block with one counter.
type chips struct {
	pool    string
	total   int
	perHost int
	unit    int   // chips per counter
	perSet  int   // counters per set
	sizes   []int // sizes of blocks
}

// rack returns a rack of 16 hosts with 8 chips each, of which every second pair of hosts is in use.
// The claim requests a block of this size, on host 2.
func rack(size int) *World {
	c := chips{pool: "rack", total: 128, perHost: 8, unit: 4, perSet: 32, sizes: []int{1, 4, 8, 16, 32, 64, 128}}
	w := c.world(size)
	for pair := 0; pair < 8; pair += 2 {
		w.holdBy(c.pool, fmt.Sprintf("chips-%d-%d", 8, 2*pair))
		w.holdBy(c.pool, fmt.Sprintf("chips-%d-%d", 8, 2*pair+1))
	}
	w.Nodes[0], w.Nodes[2] = w.Nodes[2], w.Nodes[0]
	return w
}

// superpod returns 9,216 chips on 2,304 nodes, in blocks from 4 chips to all. The last node may be
// in use.
func superpod(size int, used bool) *World {
	c := chips{
		pool:    "superpod",
		total:   9216,
		perHost: 4,
		unit:    192,
		perSet:  24,
		sizes:   []int{4, 64, 192, 384, 768, 1536, 3072, 9216},
	}
	w := c.world(size)
	if used {
		w.holdBy(c.pool, fmt.Sprintf("chips-4-%d", c.total/4-1))
	}
	return w
}

// world publishes all blocks in one pool, with a claim for one of this size.
func (c chips) world(size int) *World {
	w := &World{Classes: []*resourcev1.DeviceClass{newClass("gpu", fmt.Sprintf("device.driver == %q", gpu))}}
	for host := range c.total / c.perHost {
		labels := map[string]string{}
		for _, block := range c.sizes {
			labels[c.label(block)] = fmt.Sprint(host * c.perHost / block)
		}
		w.Nodes = append(w.Nodes, newNode(fmt.Sprint("host-", host), labels))
	}
	var devices []resourcev1.Device
	for _, block := range c.sizes {
		for i := range c.total / block {
			devices = append(devices, c.device(block, i))
		}
	}
	yes := true
	w.publish(
		c.pool,
		devices,
		func(spec *resourcev1.ResourceSliceSpec) { spec.PerDeviceNodeSelection = &yes },
		c.counters()...)
	w.claim(1, 1)
	exactly := w.Claims[0].Spec.Devices.Requests[0].Exactly
	exactly.Selectors = append(exactly.Selectors, selectorOf(fmt.Sprintf("device.attributes[%q].chips == %d", gpu, size)))
	return w
}

// label returns the node label for the blocks of a size.
func (c chips) label(block int) string { return fmt.Sprintf("example.com/block-%d", block) }

// device returns the block with this number among those of its size.
func (c chips) device(block, i int) resourcev1.Device {
	size := int64(block)
	device := resourcev1.Device{
		Name:         fmt.Sprintf("chips-%d-%d", block, i),
		Attributes:   map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"chips": {IntValue: &size}},
		NodeSelector: hostsOf(c.label(block), fmt.Sprint(i)),
	}
	if block <= c.perHost {
		node := fmt.Sprint("host-", i*block/c.perHost)
		device.NodeSelector, device.NodeName = nil, &node
	}
	first := i * block / c.unit
	for unit := first; unit < first+max(1, block/c.unit); unit++ {
		set := fmt.Sprint("set-", unit/c.perSet)
		if n := len(device.ConsumesCounters); n == 0 || device.ConsumesCounters[n-1].CounterSet != set {
			consumption := resourcev1.DeviceCounterConsumption{CounterSet: set, Counters: map[string]resourcev1.Counter{}}
			device.ConsumesCounters = append(device.ConsumesCounters, consumption)
		}
		counters := device.ConsumesCounters[len(device.ConsumesCounters)-1].Counters
		counters[fmt.Sprint("unit-", unit)] = resourcev1.Counter{Value: *quantity(min(block, c.unit))}
	}
	return device
}

func (c chips) counters() []resourcev1.CounterSet {
	var sets []resourcev1.CounterSet
	for unit := range c.total / c.unit {
		if unit%c.perSet == 0 {
			sets = append(sets,
				resourcev1.CounterSet{Name: fmt.Sprint("set-", unit/c.perSet), Counters: map[string]resourcev1.Counter{}})
		}
		sets[len(sets)-1].Counters[fmt.Sprint("unit-", unit)] = resourcev1.Counter{Value: *quantity(c.unit)}
	}
	return sets
}
