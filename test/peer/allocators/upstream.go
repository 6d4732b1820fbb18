package allocators

import (
	"context"
	"errors"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// Upstream is what kube-scheduler keeps from pod to pod: the objects of its informers, the devices that claims hold, and
// compiled selectors.
type Upstream struct {
	Features structured.Features
	Timeout  time.Duration // of one node, as kube-scheduler's filterTimeout; 0 for none

	classes map[string]*resourcev1.DeviceClass
	slices  []*resourcev1.ResourceSlice
	held    structured.AllocatedState
	cache   *cel.Cache
}

// EveryFeature is what a scheduler knows with all its feature gates on: the variant "experimental".
var EveryFeature = structured.Features{
	AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true, DeviceBindingAndStatus: true,
	DeviceTaints: true, FractionalCapacityRange: true, ListTypeAttributes: true, OptionalNodeOperations: true,
	PartitionableDevices: true, PrioritizedList: true,
}

// DefaultFeatures is what it knows with the gates of 1.37 as they are: the variant "incubating".
var DefaultFeatures = structured.Features{
	AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true, FractionalCapacityRange: true,
	PartitionableDevices: true, PrioritizedList: true,
}

// cachedExpressions is how many kube-scheduler remembers.
const cachedExpressions = 10

// NewUpstream reads a world.
func NewUpstream(w *World, features structured.Features) *Upstream {
	u := &Upstream{
		Features: features, slices: w.Slices, classes: map[string]*resourcev1.DeviceClass{},
		cache: newCELCache(features),
		held: structured.AllocatedState{
			AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
			AggregatedCapacity: structured.NewConsumedCapacityCollection(),
		},
	}
	for _, class := range w.Classes {
		u.classes[class.Name] = class
	}
	for _, claim := range w.Holders {
		u.hold(claim)
	}
	return u
}

func newCELCache(features structured.Features) *cel.Cache {
	return cel.NewCache(cachedExpressions, cel.Features{
		EnableConsumableCapacity: features.ConsumableCapacity, EnableListTypeAttributes: features.ListTypeAttributes,
	})
}

func (u *Upstream) hold(claim *resourcev1.ResourceClaim) {
	for _, result := range claim.Status.Allocation.Devices.Results {
		if result.AdminAccess != nil && *result.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
		if result.ShareID == nil {
			u.held.AllocatedDevices.Insert(id)
			continue
		}
		u.held.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
		if result.ConsumedCapacity != nil {
			u.held.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
		}
	}
}

// Begin is what is done once for a pod: kube-scheduler copies what is held, and sorts the slices by node.
func (u *Upstream) Begin(ctx context.Context) (structured.Allocator, error) {
	held := structured.AllocatedState{
		AllocatedDevices: maps.Clone(u.held.AllocatedDevices), AllocatedSharedDeviceIDs: maps.Clone(u.held.AllocatedSharedDeviceIDs),
		AggregatedCapacity: u.held.AggregatedCapacity.Clone(),
	}
	return structured.NewAllocator(ctx, u.Features, held, u, u.slices, u.cache)
}

// On asks for devices for the claims on one node; nil if there are none.
func (u *Upstream) On(
	ctx context.Context, a structured.Allocator, node *corev1.Node, claims []*resourcev1.ResourceClaim,
) ([]resourcev1.AllocationResult, error) {
	if u.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, u.Timeout)
		defer cancel()
		ctx = limited
	}
	results, err := a.Allocate(ctx, node, claims)
	if err != nil {
		return nil, err
	}
	if len(results) != len(claims) {
		return nil, nil
	}
	return results, nil
}

// List is not used by allocators.
func (u *Upstream) List() ([]*resourcev1.DeviceClass, error) { return nil, errors.New("not served") }

// Get finds a class.
func (u *Upstream) Get(name string) (*resourcev1.DeviceClass, error) {
	if class, ok := u.classes[name]; ok {
		return class, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclasses"), name)
}
