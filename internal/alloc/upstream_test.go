package alloc_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// upstream is a world as input for the allocator of Kubernetes.
type upstream struct {
	*world
	cache *cel.Cache
}

func (u *upstream) List() ([]*resourcev1.DeviceClass, error) { return nil, nil }

func (u *upstream) Get(name string) (*resourcev1.DeviceClass, error) {
	class, ok := u.state.Classes.Get(name)
	if !ok {
		return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclasses"), name)
	}
	c := &resourcev1.DeviceClass{}
	c.Name, c.Spec.Selectors = name, celSelectors(class.Selectors)
	return c, nil
}

func celSelectors(expressions []string) []resourcev1.DeviceSelector {
	var list []resourcev1.DeviceSelector
	for _, expression := range expressions {
		list = append(list, resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}})
	}
	return list
}

func (u *upstream) resourceSlices() []*resourcev1.ResourceSlice {
	var list []*resourcev1.ResourceSlice
	yes := true
	for _, from := range u.slices {
		slice := &resourcev1.ResourceSlice{}
		slice.Name = from.Name
		slice.Spec.Driver, slice.Spec.PerDeviceNodeSelection = from.Pool.Driver, &yes
		slice.Spec.Pool = resourcev1.ResourcePool{
			Name:               from.Pool.Pool,
			Generation:         from.Generation,
			ResourceSliceCount: from.PoolSlices,
		}
		for i := range from.Devices {
			device := resourcev1.Device{
				Name:       from.Devices[i].Name,
				Attributes: from.Devices[i].Attributes,
				Taints: u.taints[model.DeviceID{Driver: from.Pool.Driver, Pool: from.Pool.Pool,
					Device: from.Devices[i].Name}],
				ConsumesCounters: from.Devices[i].ConsumesCounters,
				Capacity:         from.Devices[i].Capacity,
			}
			device.BindsToNode = &from.Devices[i].BindsToNode
			device.BindingConditions = from.Devices[i].BindingConditions
			device.BindingFailureConditions = from.Devices[i].BindingFailureConditions
			device.AllowMultipleAllocations = &from.Devices[i].AllowMultipleAllocations
			switch scope := from.Devices[i].Scope; {
			case scope.All:
				device.AllNodes = &yes
			case scope.Selector != nil:
				device.NodeSelector = scope.Selector
			default:
				device.NodeName = &scope.Node
			}
			slice.Spec.Devices = append(slice.Spec.Devices, device)
		}
		list = append(list, slice)
		if len(from.Counters) > 0 {
			slice.Spec.Pool.ResourceSliceCount++
			counters := &resourcev1.ResourceSlice{}
			counters.Name = from.Name + "-counters"
			counters.Spec = resourcev1.ResourceSliceSpec{
				Driver:         slice.Spec.Driver,
				Pool:           slice.Spec.Pool,
				AllNodes:       &yes,
				SharedCounters: from.Counters,
			}
			list = append(list, counters)
		}
	}
	return list
}

func (u *upstream) resourceClaims() []*resourcev1.ResourceClaim {
	var list []*resourcev1.ResourceClaim
	for _, from := range u.claims {
		claim := &resourcev1.ResourceClaim{}
		claim.Name, claim.Namespace = from.Key.Name, from.Key.Namespace
		claim.Spec.Devices.Constraints = from.Constraints
		for _, request := range from.Requests {
			to := resourcev1.DeviceRequest{Name: request.Name}
			for _, alternative := range request.Alternatives {
				mode := resourcev1.DeviceAllocationModeExactCount
				if alternative.All {
					mode = resourcev1.DeviceAllocationModeAll
				}
				exactly := resourcev1.ExactDeviceRequest{
					DeviceClassName: alternative.Class, Selectors: celSelectors(alternative.Selectors), AllocationMode: mode,
					Count:       alternative.Count,
					AdminAccess: &alternative.AdminAccess, Tolerations: alternative.Tolerations, Capacity: alternative.Capacity,
					DerivedAttributes: alternative.DerivedAttributes,
				}
				if alternative.Name == "" {
					to.Exactly = &exactly
					continue
				}
				to.FirstAvailable = append(to.FirstAvailable, resourcev1.DeviceSubRequest{
					Name: alternative.Name, DeviceClassName: alternative.Class, Selectors: exactly.Selectors, AllocationMode: mode,
					Count: alternative.Count, Tolerations: alternative.Tolerations, Capacity: alternative.Capacity,
					DerivedAttributes: alternative.DerivedAttributes,
				})
			}
			claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, to)
		}
		list = append(list, claim)
	}
	return list
}

// allocate reports whether upstream's allocator finds an allocation.
func (u *upstream) allocate(t *rapid.T) (bool, error) {
	taken := sets.New[structured.DeviceID]()
	shares, consumed := sets.New[structured.SharedDeviceID](), structured.NewConsumedCapacityCollection()
	for device, held := range u.held {
		if h := u.capacity[device]; held && h.shared {
			id := structured.MakeDeviceID(device.Driver, device.Pool, device.Device)
			share := types.UID("share")
			shares.Insert(structured.MakeSharedDeviceID(id, &share))
			consumed.Insert(
				structured.NewDeviceConsumedCapacity(id,
					map[resourcev1.QualifiedName]resource.Quantity{"m": *resource.NewQuantity(int64(h.taken), resource.DecimalSI)}),
			)
		} else if held {
			taken.Insert(structured.MakeDeviceID(device.Driver, device.Pool, device.Device))
		}
	}
	features := structured.Features{
		AdminAccess:            true,
		PrioritizedList:        true,
		DeviceTaints:           true,
		ListTypeAttributes:     true,
		ConsumableCapacity:     true,
		PartitionableDevices:   true,
		DeviceBindingAndStatus: true,
	}
	// selects another of upstream's allocators
	features.DerivedAttributes, features.CompatibilityGroups = u.features.derived, u.features.groups
	allocator, err := structured.NewAllocator(context.Background(), features, structured.AllocatedState{
		AllocatedDevices: taken, AllocatedSharedDeviceIDs: shares, AggregatedCapacity: consumed,
	}, u, u.resourceSlices(), u.cache)
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{}
	node.Name, node.Labels = "n", map[string]string{"rack": "a"}
	results, err := allocator.Allocate(context.Background(), node, u.resourceClaims())
	return len(results) == len(u.claims), err
}

// Upstream's allocator finds an allocation if and only if allot does, with these exceptions
// (DIFFERENCES.md): it returns an error for allocationMode All if some devices cannot be allocated;
// it does not allocate a device that another claim got with admin access in the same attempt; it
// charges counters for admin access; and if a counter is overdrawn, it allocates no device of the
// pool that takes from counters.
func TestSearchAgreesWithUpstream(t *testing.T) {
	t.Parallel()
	allocator := alloc.New()
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true})
	counts := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		theirs, err := (&upstream{world: w, cache: cache}).allocate(t)
		problem, reason := allocator.Prepare(w.state, w.claims, false)
		if reason != nil {
			t.Fatal(reason)
		}
		_, reason = problem.NodeOffer(w.node)
		ours := reason == nil
		switch {
		case err != nil && w.features.all:
			counts["upstream gives up"]++
		case err != nil:
			t.Fatalf("upstream: %v; here: %v", err, reason)
		case ours == theirs:
			counts[map[bool]string{true: "both allocate", false: "both refuse"}[ours]]++
		case ours && w.hasAdminAccess() && (len(w.claims) > 1 || w.features.counters || w.features.capacity):
			counts["allocated here only, with admin access"]++
		case ours && w.overdrawn():
			counts["allocated here only, beside a counter that is overspent"]++
		default:
			known, _ := w.solutions()
			t.Fatalf("upstream allocates: %v; reason here: %v; by brute force there are %d solutions", theirs, reason,
				len(known))
		}
	})
	t.Log(counts)
}

// hasAdminAccess reports whether a request has admin access.
func (w *world) hasAdminAccess() bool {
	for _, claim := range w.claims {
		for _, request := range claim.Requests {
			if request.Alternatives[0].AdminAccess {
				return true
			}
		}
	}
	return false
}

// overdrawn reports whether the devices in use take more than a counter has.
func (w *world) overdrawn() bool {
	sum := map[string]int{}
	for device, held := range w.held {
		if held {
			sum[device.Pool+"/c"] += w.usage[device][0]
			sum[device.Pool+"/d"] += w.usage[device][1]
		}
	}
	for counter, n := range sum {
		if n > w.total[counter] {
			return true
		}
	}
	return false
}

var _ structured.DeviceClassLister = &upstream{}
