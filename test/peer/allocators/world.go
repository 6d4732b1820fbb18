package allocators

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// World is the input of an allocator: a cluster with devices, claims that hold some of them, and
// claims to allocate.
type World struct {
	Features []Feature // unusual features in it
	Nodes    []*corev1.Node
	Classes  []*resourcev1.DeviceClass
	Slices   []*resourcev1.ResourceSlice
	Holders  []*resourcev1.ResourceClaim // allocated claims
	Claims   []*resourcev1.ResourceClaim // to be allocated together
}

// Feature is a property that an allocator must support.
type Feature string

// The features of worlds.
const (
	Several      Feature = "several claims"
	All          Feature = "all devices"
	Admin        Feature = "admin access"
	Match        Feature = "matchAttribute"
	Distinct     Feature = "distinctAttribute"
	Lists        Feature = "list attributes"
	Alternatives Feature = "firstAvailable"
	Taints       Feature = "taints"
	Counters     Feature = "counters"
	Groups       Feature = "compatibility groups"
	Shares       Feature = "consumable capacity"
	Binding      Feature = "binding conditions"
	Derived      Feature = "derived attributes"
	SkipNode     Feature = "skipNodeOperations"
	HalfPools    Feature = "incomplete pools"
	OldSlices    Feature = "old generations"
	Twice        Feature = "devices published twice"
	Gone         Feature = "devices gone in use"
	Configs      Feature = "configuration"
	Huge         Feature = "amounts beyond 64 bits"
	Unknown      Feature = "unknown counters"
)

// Every lists all features, in the order in which they are printed.
var Every = []Feature{
	Several, All, Admin, Match, Distinct, Lists, Alternatives, Taints, Counters, Groups, Shares, Binding, Derived,
	SkipNode,
	HalfPools, OldSlices, Twice, Gone, Configs, Huge, Unknown,
}

// Has reports whether the world has the feature.
func (w *World) Has(f Feature) bool { return slices.Contains(w.Features, f) }

// String returns the world as YAML, for a bug report.
func (w *World) String() string {
	text, err := yaml.Marshal(w)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// device returns the device that the newest generation of a pool publishes under a name.
func (w *World) device(driver, pool, name string) (*resourcev1.Device, *resourcev1.ResourceSlice) {
	newest := w.newest(driver, pool)
	for _, slice := range w.Slices {
		if slice.Spec.Driver != driver || slice.Spec.Pool.Name != pool || slice.Spec.Pool.Generation != newest {
			continue
		}
		for i := range slice.Spec.Devices {
			if slice.Spec.Devices[i].Name == name {
				return &slice.Spec.Devices[i], slice
			}
		}
	}
	return nil, nil
}

func (w *World) newest(driver, pool string) int64 {
	newest := int64(0)
	for _, slice := range w.Slices {
		if slice.Spec.Driver == driver && slice.Spec.Pool.Name == pool {
			newest = max(newest, slice.Spec.Pool.Generation)
		}
	}
	return newest
}

// holdBy makes a claim hold one device.
func (w *World) holdBy(pool, device string) *resourcev1.DeviceRequestAllocationResult {
	holder := newClaim(fmt.Sprint("holder", len(w.Holders)))
	holder.Status.Allocation = &resourcev1.AllocationResult{}
	holder.Status.Allocation.Devices.Results = []resourcev1.DeviceRequestAllocationResult{
		{Request: "r", Driver: gpu, Pool: pool, Device: device},
	}
	w.Holders = append(w.Holders, holder)
	return &holder.Status.Allocation.Devices.Results[0]
}

// options calls f for each alternative of each request, with the names under which its results are
// recorded.
func options(claim *resourcev1.ResourceClaim, f func(request, name string, o *resourcev1.ExactDeviceRequest)) {
	for i := range claim.Spec.Devices.Requests {
		request := &claim.Spec.Devices.Requests[i]
		if request.Exactly != nil {
			f(request.Name, request.Name, request.Exactly)
		}
		for o := range request.FirstAvailable {
			f(request.Name, request.Name+"/"+request.FirstAvailable[o].Name, exactly(&request.FirstAvailable[o]))
		}
	}
}

func exactly(o *resourcev1.DeviceSubRequest) *resourcev1.ExactDeviceRequest {
	return &resourcev1.ExactDeviceRequest{
		DeviceClassName: o.DeviceClassName, Selectors: o.Selectors, AllocationMode: o.AllocationMode, Count: o.Count,
		Tolerations: o.Tolerations, Capacity: o.Capacity, DerivedAttributes: o.DerivedAttributes,
	}
}

func alternative(name string, o *resourcev1.ExactDeviceRequest) resourcev1.DeviceSubRequest {
	return resourcev1.DeviceSubRequest{
		Name: name, DeviceClassName: o.DeviceClassName, Selectors: o.Selectors, AllocationMode: o.AllocationMode,
		Count:       o.Count,
		Tolerations: o.Tolerations, Capacity: o.Capacity, DerivedAttributes: o.DerivedAttributes,
	}
}

// newClaim returns a claim without requests.
func newClaim(name string) *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{}
	claim.Name, claim.Namespace, claim.UID = name, "ns", types.UID("uid of "+name)
	return claim
}

func selectorOf(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

func newClass(name string, expressions ...string) *resourcev1.DeviceClass {
	class := &resourcev1.DeviceClass{}
	class.Name = name
	for _, expression := range expressions {
		class.Spec.Selectors = append(class.Spec.Selectors, selectorOf(expression))
	}
	return class
}

func newNode(name string, labels map[string]string) *corev1.Node {
	node := &corev1.Node{}
	node.Name, node.Labels = name, labels
	return node
}
