package validation_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/apiserver/validation"
	"github.com/allot-dev/allot/internal/model"
)

// TestAllocationsAreValid allocates valid claims, and passes every allocation to the validation of
// status updates. If it rejected one, the scheduler would retry the write forever.
func TestAllocationsAreValid(t *testing.T) {
	allocated := 0
	rapid.Check(t, func(t *rapid.T) {
		classes := drawClasses(t)
		slice := drawSliceOf(t)
		claim := drawClaimOf(t, classes)
		for _, class := range classes {
			mustBeValid(t, rulesets()["DeviceClass"].create(class))
		}
		mustBeValid(t, rulesets()["ResourceSlice"].create(slice))
		if errs := rulesets()["ResourceClaim"].create(claim); len(errs) > 0 {
			return // a count that no claim can have
		}
		choice, reason := allocate(classes, slice, claim)
		if reason != nil {
			return
		}
		allocated++
		now := claim.DeepCopy()
		now.ResourceVersion = "2"
		old := now.DeepCopy()
		now.Status.Allocation = choice[0].Result()
		now.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{model.PodConsumer("p", "uid")}
		if errs := validation.ValidateResourceClaimStatusUpdate(now, old); len(errs) > 0 {
			t.Errorf("the allocation is not valid: %v", errs.ToAggregate())
		}
	})
	if allocated == 0 {
		t.Error("no claim was allocated")
	}
}

func mustBeValid(t *rapid.T, errs field.ErrorList) {
	if err := errs.ToAggregate(); err != nil {
		t.Fatalf("the input is not valid: %v", err)
	}
}

func allocate(
	classes []*resourcev1.DeviceClass, slice *resourcev1.ResourceSlice, claim *resource.ResourceClaim,
) (alloc.Choice, *alloc.Reason) {
	state := model.NewState()
	state.Nodes.Put(&model.Node{Name: "n", Allocatable: model.Resources{corev1.ResourcePods: 10}})
	for _, class := range classes {
		state.Classes.Put(model.ClassFrom(class))
	}
	state.Devices.PutSlice(model.SliceFrom(slice))
	problem, reason := alloc.New().Prepare(state, []*model.Claim{model.ClaimFrom(claim)}, true)
	if reason != nil {
		return nil, reason
	}
	node, _ := state.Nodes.Get("n")
	board, reason := problem.NodeOffer(node)
	if reason != nil {
		return nil, reason
	}
	choice, outcome := board.Best(&alloc.Budget{Limit: 10_000})
	if outcome != alloc.Accepted {
		return nil, &alloc.Reason{}
	}
	return choice, nil
}

func drawConfigs(t *rapid.T, most int) []resourcev1.DeviceConfiguration {
	list := make([]resourcev1.DeviceConfiguration, rapid.SampledFrom([]int{0, 1, 3, most - 1, most}).Draw(t, "configs"))
	for i := range list {
		list[i].Opaque = &resourcev1.OpaqueDeviceConfiguration{
			Driver: "gpu.example.com", Parameters: runtime.RawExtension{Raw: fmt.Appendf(nil, `{"n":%d}`, i)},
		}
	}
	return list
}

func drawClasses(t *rapid.T) []*resourcev1.DeviceClass {
	classes := make([]*resourcev1.DeviceClass, rapid.IntRange(1, 4).Draw(t, "classes"))
	for i := range classes {
		classes[i] = &resourcev1.DeviceClass{}
		classes[i].Name = fmt.Sprint("class", i)
		for _, config := range drawConfigs(t, resourcev1.DeviceConfigMaxSize) {
			classes[i].Spec.Config = append(classes[i].Spec.Config,
				resourcev1.DeviceClassConfiguration{DeviceConfiguration: config})
		}
	}
	return classes
}

func drawSliceOf(t *rapid.T) *resourcev1.ResourceSlice {
	slice := &resourcev1.ResourceSlice{}
	slice.Name = "slice"
	node := "n"
	slice.Spec = resourcev1.ResourceSliceSpec{
		Driver: "gpu.example.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "pool", Generation: 1,
			ResourceSliceCount: 1},
	}
	for d := range rapid.IntRange(1, 40).Draw(t, "devices") {
		device := resourcev1.Device{Name: fmt.Sprint("d", d)}
		if rapid.Bool().Draw(t, "shared") {
			yes := true
			device.AllowMultipleAllocations = &yes
			device.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"m": {
				Value: apiresource.MustParse(
					rapid.SampledFrom([]string{"1", "4", "1500m", "1e30", "18446744073709551616"}).Draw(t, "capacity"),
				),
			}}
		}
		slice.Spec.Devices = append(slice.Spec.Devices, device)
	}
	return slice
}

func drawClaimOf(t *rapid.T, classes []*resourcev1.DeviceClass) *resource.ResourceClaim {
	claim := &resource.ResourceClaim{}
	claim.Name, claim.Namespace, claim.UID = "c", "default", types.UID("uid of c")
	var names []string
	class := func() string { return rapid.SampledFrom(classes).Draw(t, "class").Name }
	for r := range rapid.SampledFrom([]int{1, 2, 8, 32}).Draw(t, "requests") {
		request := resourcev1.DeviceRequest{Name: fmt.Sprint("r", r)}
		count := rapid.SampledFrom([]int64{1, 1, 1, 2, 30, 9223372036854775807}).Draw(t, "count")
		mode := resourcev1.DeviceAllocationModeExactCount
		if rapid.IntRange(0, 9).Draw(t, "all") == 0 {
			mode, count = resourcev1.DeviceAllocationModeAll, 0
		}
		names = append(names, request.Name)
		if rapid.Bool().Draw(t, "first available") {
			for o := range rapid.IntRange(1, 3).Draw(t, "alternatives") {
				name := fmt.Sprint("o", o)
				request.FirstAvailable = append(request.FirstAvailable,
					resourcev1.DeviceSubRequest{Name: name, DeviceClassName: class(), AllocationMode: mode, Count: count})
				names, mode, count = append(names, request.Name+"/"+name), resourcev1.DeviceAllocationModeExactCount, 1
			}
		} else {
			request.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: class(), AllocationMode: mode, Count: count}
		}
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, request)
	}
	for _, config := range drawConfigs(t, resourcev1.DeviceConfigMaxSize) {
		c := resourcev1.DeviceClaimConfiguration{DeviceConfiguration: config}
		if rapid.Bool().Draw(t, "for some") {
			c.Requests = []string{rapid.SampledFrom(names).Draw(t, "for")}
		}
		claim.Spec.Devices.Config = append(claim.Spec.Devices.Config, c)
	}
	return claim
}
