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

// Upstream is the state that kube-scheduler keeps between pods: the objects of its informers, the
// allocated devices, and compiled selectors.
type Upstream struct {
	Features structured.Features
	Timeout  time.Duration // for one node, as kube-scheduler's filterTimeout; 0 for none

	classes map[string]*resourcev1.DeviceClass
	slices  []*resourcev1.ResourceSlice
	held    structured.AllocatedState
	cache   *cel.Cache
}

// EveryFeature has all feature gates of a scheduler on: the variant "experimental".
var EveryFeature = structured.Features{
	AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true,
	DeviceBindingAndStatus: true,
	DeviceTaints:           true, FractionalCapacityRange: true, ListTypeAttributes: true, OptionalNodeOperations: true,
	PartitionableDevices: true, PrioritizedList: true,
}

// DefaultFeatures has the gates of 1.37 in their default state: the variant "incubating".
var DefaultFeatures = structured.Features{
	AdminAccess: true, ConsumableCapacity: true, DeviceBindingAndStatus: true, DeviceTaints: true,
	FractionalCapacityRange: true,
	PartitionableDevices:    true, PrioritizedList: true,
}

// cachedExpressions is the size of kube-scheduler's cache.
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

// Begin does what is done once for a pod: kube-scheduler copies the allocated state, and sorts the
// slices by node.
func (u *Upstream) Begin(ctx context.Context) (structured.Allocator, error) {
	held := structured.AllocatedState{
		AllocatedDevices:         maps.Clone(u.held.AllocatedDevices),
		AllocatedSharedDeviceIDs: maps.Clone(u.held.AllocatedSharedDeviceIDs),
		AggregatedCapacity:       u.held.AggregatedCapacity.Clone(),
	}
	return structured.NewAllocator(ctx, u.Features, held, u, u.slices, u.cache)
}

// On returns devices for the claims on one node, or nil.
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

// Get returns a class.
func (u *Upstream) Get(name string) (*resourcev1.DeviceClass, error) {
	if class, ok := u.classes[name]; ok {
		return class, nil
	}
	return nil, apierrors.NewNotFound(resourcev1.Resource("deviceclasses"), name)
}
