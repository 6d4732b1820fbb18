package model

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Scope is the set of nodes from which a device can be used: one node by name, the nodes that match
// a selector, or all nodes. Exactly one of the fields is set.
type Scope struct {
	Node     string
	Selector *corev1.NodeSelector
	All      bool
}

// Device is one device of a ResourceSlice.
type Device struct {
	Name       string
	Attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute
	Capacity   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity
	*Usage
}

// Usage contains from which nodes, by which claims and at what cost a device can be used. Most
// devices share the usage of their slice. It is never changed.
type Usage struct {
	Scope Scope
	// an allocation restricts the claim to the node for which it was made, whatever the scope
	BindsToNode bool

	AllowMultipleAllocations bool
	ConsumesCounters         []resourcev1.DeviceCounterConsumption
	Taints                   []resourcev1.DeviceTaint
	BindingConditions        []string
	BindingFailureConditions []string
	// resources of the node that the device uses
	NodeResources      map[corev1.ResourceName]resourcev1.NodeAllocatableResource
	SkipNodeOperations []resourcev1.SkipNodeOperation
	// feature that is off and without which the device cannot be allocated, or ""
	MissingFeature string
}

// Slice is one ResourceSlice, which is a part of a pool.
type Slice struct {
	Name       string
	UID        types.UID
	Version    uint64
	Pool       PoolID
	Generation int64
	PoolSlices int64 // number of slices of the pool in this generation
	// usage of devices without a usage of their own; a slice without devices has a scope, too;
	// empty if each device has its own scope
	Usage    Usage
	Devices  []Device
	Counters []resourcev1.CounterSet
}

// Class is a DeviceClass: CEL selectors, all of which a device must match, and configuration for
// the driver.
type Class struct {
	Name      string
	UID       types.UID
	Version   uint64
	Created   metav1.Time
	Extended  corev1.ResourceName // extended resource that its devices can replace, or ""
	Selectors []string
	Config    []resourcev1.DeviceConfiguration
	// path of a field that this version does not know, so that the class cannot be used, or ""
	Unknown string
}
