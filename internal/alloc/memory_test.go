package alloc_test

import (
	"fmt"
	"runtime"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

const (
	manyNodes      = 3_125
	devicesPerNode = 8
	attributes     = 8
)

// nodeSlice returns a slice as a driver publishes it: each device has attributes and a capacity,
// and no two devices share memory, as after decoding.
func nodeSlice(node string) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node, ResourceVersion: "1"}}
	s.Spec.Driver, s.Spec.NodeName = driver, &node
	s.Spec.Pool = resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}
	for i := range devicesPerNode {
		d := resourcev1.Device{
			Name:       fmt.Sprint("gpu-", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{},
		}
		for a := range attributes {
			value := fmt.Sprintf("value %d of %s", a, node)
			d.Attributes[resourcev1.QualifiedName(fmt.Sprint("attribute", a))] = resourcev1.DeviceAttribute{StringValue: &value}
		}
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: quantity.MustParse("80Gi")}}
		s.Spec.Devices = append(s.Spec.Devices, d)
	}
	return s
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// The memory for 100,000 devices is limited: for API objects, for the State, and for the results of
// one selector.
func TestMemoryPerDevice(t *testing.T) {
	if testing.Short() {
		t.Skip("builds many devices")
	}
	published := make([]*resourcev1.ResourceSlice, manyNodes)
	start := heap()
	for i := range published {
		published[i] = nodeSlice(fmt.Sprintf("node-%05d", i))
	}
	api := heap()
	state := model.NewState()
	for _, slice := range published {
		state.Nodes.Put(&model.Node{Name: slice.Name, Allocatable: model.Resources{corev1.ResourcePods: 10}})
		state.Devices.PutSlice(model.SliceFrom(slice))
	}
	state.Classes.Put(
		&model.Class{Name: "class", Selectors: []string{fmt.Sprintf(`"attribute1" in device.attributes[%q]`, driver)}},
	)
	for _, node := range state.Nodes.List() {
		state.Devices.Pools(node) // builds the pools
	}
	kept := heap()
	allocator := alloc.New()
	problem, reason := allocator.Prepare(state, []*model.Claim{claimFor(1, 1)}, false)
	if reason != nil {
		t.Fatal(reason)
	}
	free := 0
	for _, node := range state.Nodes.List() {
		here, _ := problem.FreeDevices(node)
		free += here
	}
	worked := heap()
	if free != manyNodes*devicesPerNode {
		t.Fatalf("%d devices are free", free)
	}
	mb := func(from, to uint64) float64 { return float64(to-from) / (1 << 20) * 100_000 / float64(free) }
	t.Logf(
		"100,000 devices, %d a node: API objects %.0f MB, the State beside them %.0f MB, one selector's outcome %.0f MB",
		devicesPerNode,
		mb(start, api),
		mb(api, kept),
		mb(kept, worked),
	)
	if mb(api, kept) > 50 || mb(kept, worked) > 15 {
		t.Error("that is more than it should be")
	}
	runtime.KeepAlive(published)
	runtime.KeepAlive(state)
	runtime.KeepAlive(allocator)
}
