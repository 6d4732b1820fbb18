package fleet

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// DefaultDriver is the driver of devices without one. The class of examples/kep-5729.yaml
	// selects it.
	DefaultDriver = "sim.allot.dev"
	// DefaultName is the name of a fleet without one.
	DefaultName = "default"
	// AnnotationLease on a Node names the Lease in kube-node-lease that is renewed for the node, in
	// addition to a Lease with the node's own name. All nodes of a fleet share one Lease.
	AnnotationLease = "allot.dev/lease"
	// LabelFleet is set on all Nodes and ResourceSlices of a fleet. Its value is the name of the
	// fleet.
	LabelFleet = "allot.dev/fleet"

	// MaxNodes is how many nodes a fleet can have: the node agent has a /24 of 10.0.0.0/8 for each.
	MaxNodes = 65536
	// MaxDevices is how many devices a pool can have.
	MaxDevices = 65536
)

// Fleet is a set of simulated nodes and network-attached devices.
type Fleet struct {
	Name    string
	Pools   []NodePool
	Network []NetworkPool
	Copied  Copied
}

// Copied are nodes and devices like those of another cluster, in addition to the pools.
type Copied struct {
	Nodes  []corev1.Node
	Slices []resourcev1.ResourceSlice
}

// NodePool is a number of equal nodes, named <Name>-0, <Name>-1 and so on.
type NodePool struct {
	Name        string
	Count       int
	Racks       Racks
	Units       []Unit // nested, the outermost first
	Labels      map[string]string
	Taints      []corev1.Taint
	Allocatable corev1.ResourceList
	Devices     []DeviceSet // sets on each node
}

// Racks divides a node pool into Count ranges of consecutive nodes of (nearly) equal length. Count
// 0 means no racks.
type Racks struct {
	Count  int
	Label  string // node label for the name of the rack
	Prefix string // racks are named <Prefix>-0, <Prefix>-1 and so on
}

// DeviceSet is a number of devices of one driver that differ only in their placeholders.
type DeviceSet struct {
	Driver     string
	Name       string // contains {index}
	Count      int
	First      int // first index
	Attributes map[resourcev1.QualifiedName]Attribute
	Capacity   map[resourcev1.QualifiedName]resource.Quantity
}

// NetworkPool is a pool of devices that several nodes can reach; all nodes if Nodes is empty.
type NetworkPool struct {
	Name    string
	Nodes   map[string]string // labels of the nodes that can reach it
	Devices []DeviceSet       // all of the same driver, unless it is of a unit
	unit    string            // unit of which these are the devices, or ""
}

// Simple returns a fleet of equal nodes with equal devices of the default driver.
func Simple(nodes, devicesPerNode int) Fleet {
	pool := NodePool{Name: "node", Count: nodes, Allocatable: defaultAllocatable()}
	if devicesPerNode > 0 {
		pool.Devices = []DeviceSet{{
			Driver: DefaultDriver,
			Name:   "dev-{index}",
			Count:  devicesPerNode,
			Attributes: map[resourcev1.QualifiedName]Attribute{
				"model": {Type: TypeString, Values: []string{"sim-80"}},
				"index": {Type: TypeInt, Values: []string{"{index}"}},
			},
			Capacity: map[resourcev1.QualifiedName]resource.Quantity{"memory": resource.MustParse("80Gi")},
		}}
	}
	return Fleet{Name: DefaultName, Pools: []NodePool{pool}}
}

// Size returns the number of nodes and devices.
func (f Fleet) Size() (nodes, devices int) {
	for _, pool := range f.Pools {
		nodes += pool.Count
		devices += pool.Count*countDevices(pool.Devices) + pool.unitDevices()
	}
	for _, pool := range f.Network {
		devices += countDevices(pool.Devices)
	}
	for i := range f.Copied.Slices {
		devices += len(f.Copied.Slices[i].Spec.Devices)
	}
	return nodes + len(f.Copied.Nodes), devices
}

func countDevices(sets []DeviceSet) int {
	n := 0
	for _, set := range sets {
		n += set.Count
	}
	return n
}

func defaultAllocatable() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("32"),
		corev1.ResourceMemory:           resource.MustParse("128Gi"),
		corev1.ResourceEphemeralStorage: resource.MustParse("512Gi"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
}
