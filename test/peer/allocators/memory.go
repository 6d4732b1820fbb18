package allocators

import (
	"fmt"
	"runtime"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// Memory is how many bytes 100,000 devices take, in 12,500 slices as a client decodes them.
type Memory struct {
	Objects uint64 // kept by an informer
	State   uint64 // the State alone, the objects gone
	Both    uint64 // the State beside the objects that it was made of
	Matched uint64 // what the allocator remembers after a claim was tried on all nodes
}

// MeasureMemory builds both and looks at the heap.
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
		state.Devices.Pools(node) // which are put together now
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

// decoded makes slices as they come from the wire, so that no two share a string.
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
