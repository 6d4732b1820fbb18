package fleet

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

const (
	// DefaultDriver publishes the devices of a fleet that names no driver. The class of examples/kep-5729.yaml selects it.
	DefaultDriver = "sim.allot.dev"
	// DefaultName is the name of a fleet that has none.
	DefaultName = "default"
	// AnnotationLease on a Node names the Lease in kube-node-lease whose renewal is a sign of life of the node, beside that of
	// the node's own name. All nodes of a fleet have one Lease.
	AnnotationLease = "allot.dev/lease"
	// LabelFleet is on every Node and ResourceSlice that comes from a fleet; its value is the fleet's name.
	LabelFleet = "allot.dev/fleet"

	MaxNodes   = 65536 // in a fleet: the node agent has a /24 of 10.0.0.0/8 for each
	MaxDevices = 65536 // in one pool of devices
)

// Fleet is a set of simulated machines and of what hangs on their network.
type Fleet struct {
	Name    string
	Pools   []NodePool
	Network []NetworkPool
}

// NodePool is a number of equal nodes, named <Name>-0, <Name>-1 and so on.
type NodePool struct {
	Name        string
	Count       int
	Racks       Racks
	Labels      map[string]string
	Taints      []corev1.Taint
	Allocatable corev1.ResourceList
	Devices     []DeviceSet // on each node
}

// Racks splits a node pool into Count runs of neighbours of (nearly) equal length. Count 0 means that there are no racks.
type Racks struct {
	Count  int
	Label  string // the node label whose value is the rack's name
	Prefix string // racks are named <Prefix>-0, <Prefix>-1 and so on
}

// DeviceSet is a number of devices of one driver that differ only in what placeholders make of them.
type DeviceSet struct {
	Driver     string
	Name       string // with {index}
	Count      int
	First      int // the first index
	Attributes map[resourcev1.QualifiedName]Attribute
	Capacity   map[resourcev1.QualifiedName]resource.Quantity
}

// NetworkPool is a pool of devices that several nodes reach. All nodes do when Nodes is empty.
type NetworkPool struct {
	Name    string
	Nodes   map[string]string // labels of the nodes that reach it
	Devices []DeviceSet       // all of one driver
}

// Simple is a fleet of equal nodes with equal devices of the default driver.
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

// Size counts the nodes and the devices of the fleet.
func (f Fleet) Size() (nodes, devices int) {
	for _, pool := range f.Pools {
		nodes += pool.Count
		devices += pool.Count * countDevices(pool.Devices)
	}
	for _, pool := range f.Network {
		devices += countDevices(pool.Devices)
	}
	return nodes, devices
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
