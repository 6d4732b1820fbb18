package allocators

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

// splitGPUs returns a node with GPUs that are published with all possible partitions, the largest
// first, and claims for this number of partitions of one GPU each.
func splitGPUs(number, claims int, count int64) *World {
	w := &World{Classes: []*resourcev1.DeviceClass{newClass("gpu", fmt.Sprintf("device.driver == %q", gpu))}}
	name := "n"
	w.Nodes = append(w.Nodes, newNode(name, map[string]string{"kubernetes.io/hostname": name}))
	var devices []resourcev1.Device
	var sets []resourcev1.CounterSet
	for i := range number {
		set := resourcev1.CounterSet{
			Name:     fmt.Sprint("gpu-", i),
			Counters: map[string]resourcev1.Counter{"compute": {Value: *quantity(7)}},
		}
		for s := range 8 {
			set.Counters[fmt.Sprint("memory-", s)] = resourcev1.Counter{Value: *quantity(1)}
		}
		sets = append(sets, set)
		partition := func(compute, from, to int) {
			takes := map[string]resourcev1.Counter{"compute": {Value: *quantity(compute)}}
			for s := from; s < to; s++ {
				takes[fmt.Sprint("memory-", s)] = resourcev1.Counter{Value: *quantity(1)}
			}
			id := fmt.Sprintf("gpu-%d-%dg-%d", i, compute, from)
			devices = append(devices, resourcev1.Device{
				Name: id, Attributes: published(name, len(devices), set.Name),
				ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: set.Name, Counters: takes}},
			})
		}
		partition(7, 0, 8)
		partition(4, 0, 4)
		partition(3, 0, 4)
		partition(3, 4, 8)
		for p := range 3 {
			partition(2, 2*p, 2*p+2)
		}
		for p := range 7 {
			partition(1, p, p+1)
		}
	}
	w.publish(name, devices, func(spec *resourcev1.ResourceSliceSpec) { spec.NodeName = &name }, sets...)
	for c := range claims {
		w.claim(1, count, "root")
		w.Claims[c].Name, w.Claims[c].UID = fmt.Sprint("c", c), types.UID(fmt.Sprint("uid of c", c))
	}
	return w
}
