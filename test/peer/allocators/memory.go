package allocators

import (
	"fmt"
	"runtime"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Memory is the memory of 100,000 devices in bytes, in 12,500 slices as decoded by a client.
type Memory struct {
	Objects uint64 // in an informer
	State   uint64 // the State alone, without the objects
	Both    uint64 // the State and the objects from which it was built
	Matched uint64 // cached by the allocator after a claim was tried on all nodes
}

// MeasureMemory builds both and measures the heap.
func MeasureMemory() (Memory, error) {
	const nodes, devices = 12_500, 8
	var m Memory
	before := heap()
	objects, err := decoded(nodes, devices)
	if err != nil {
		return m, err
	}
	m.Objects = heap() - before
	state := model.NewState()
	for n := range nodes {
		state.Nodes.Put(model.NodeFrom(newNode(fmt.Sprint("n", n), nil)))
	}
	state.Classes.Put(&model.Class{Name: "gpu", Selectors: []string{fmt.Sprintf("device.driver == %q", gpu)}})
	bare := heap() - before - m.Objects
	for _, slice := range objects {
		state.Devices.PutSlice(model.SliceFrom(slice))
	}
	for _, node := range state.Nodes.List() {
		state.Devices.Pools(node) // which are assembled now
	}
	m.Both = heap() - before - bare
	runtime.KeepAlive(objects) // until here
	m.State = heap() - before - bare
	allocator := alloc.New()
	problem, reason := allocator.Prepare(state, Claims((&World{}).claim(1, 1)), false)
	if reason != nil {
		return m, fmt.Errorf("prepare: %s", reason)
	}
	for _, node := range state.Nodes.List() {
		problem.FreeDevices(node)
	}
	m.Matched = heap() - before - bare - m.State
	runtime.KeepAlive(allocator)
	runtime.KeepAlive(state)
	return m, nil
}

// decoded returns slices as they are received, so that no two share a string.
func decoded(nodes, devices int) ([]*resourcev1.ResourceSlice, error) {
	list := make([]*resourcev1.ResourceSlice, 0, nodes)
	for n := range nodes {
		w := &World{}
		w.addNode(fmt.Sprint("n", n), devices, groupsOf(4, devices))
		wire, err := w.Slices[0].Marshal()
		if err != nil {
			return nil, err
		}
		slice := &resourcev1.ResourceSlice{}
		if err := slice.Unmarshal(wire); err != nil {
			return nil, err
		}
		list = append(list, slice)
	}
	return list, nil
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
