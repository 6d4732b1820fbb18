package model

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Scope says from which nodes a device can be used: one node by name, the nodes that a selector matches, or all.
// Exactly one of the fields is set.
type Scope struct {
	Node     string
	Selector *corev1.NodeSelector
	All      bool
}

// Device is one device as a slice publishes it.
type Device struct {
	Name       string
	Attributes map[resourcev1.QualifiedName]resourcev1.DeviceAttribute
	Capacity   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity
	*Usage
}

// Usage is from where, by whom and at what cost a device can be used. Most devices have that of their slice; it is never changed.
type Usage struct {
	Scope       Scope
	BindsToNode bool // an allocation ties the claim to the node it was made for, whatever the scope

	AllowMultipleAllocations bool
	ConsumesCounters         []resourcev1.DeviceCounterConsumption
	Taints                   []resourcev1.DeviceTaint
	BindingConditions        []string
	BindingFailureConditions []string
	NodeResources            map[corev1.ResourceName]resourcev1.NodeAllocatableResource // that it draws from the node
	SkipNodeOperations       []resourcev1.SkipNodeOperation
	Lacks                    string // a feature that is off, without which the device is given to nobody; "" if there is none
}

// Slice is one ResourceSlice: a part of a pool.
type Slice struct {
	Name       string
	UID        types.UID
	Version    uint64
	Pool       PoolID
	Generation int64
	PoolSlices int64 // how many slices the pool has in this generation
	Usage      Usage // of devices that say nothing of their own; the scope is there without devices, too, and empty if each has its own
	Devices    []Device
	Counters   []resourcev1.CounterSet
}

// Class is a DeviceClass: CEL selectors that a device must all match, and configuration for the driver.
type Class struct {
	Name      string
	UID       types.UID
	Version   uint64
	Created   metav1.Time
	Extended  corev1.ResourceName // in the place of which its devices may be given, or ""
	Selectors []string
	Config    []resourcev1.DeviceConfiguration
	Unknown   string // path of a field that this version does not know, which keeps the class from being used; "" if there is none
}
