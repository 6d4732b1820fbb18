package model

import (
	"k8s.io/apimachinery/pkg/types"
)

// Key is the namespace and name of an object; its String is "namespace/name".
type Key = types.NamespacedName

// PoolID identifies a resource pool. Pool names are unique only within their driver.
type PoolID struct {
	Driver, Pool string
}

func (id PoolID) String() string { return id.Driver + "/" + id.Pool }

// DeviceID identifies a device in the cluster.
type DeviceID struct {
	Driver, Pool, Device string
}

// PoolID returns the pool of the device.
func (id DeviceID) PoolID() PoolID { return PoolID{Driver: id.Driver, Pool: id.Pool} }

func (id DeviceID) String() string { return id.Driver + "/" + id.Pool + "/" + id.Device }

// UnitKey identifies a unit: a PodGroup (Group is true), a CompositePodGroup with all below it (Tree
// is true), or a pod without one.
type UnitKey struct {
	Group bool
	Tree  bool
	Key   Key
}

func (k UnitKey) String() string {
	return k.Resource() + " " + k.Key.String()
}

// Resource returns the name, in the singular, of the resource of which the unit is an object.
func (k UnitKey) Resource() string {
	switch {
	case k.Group:
		return "podgroup"
	case k.Tree:
		return "compositepodgroup"
	}
	return "pod"
}

// CompareKeys orders keys by namespace, then by name.
func CompareKeys(a, b Key) int {
	if a.Namespace != b.Namespace {
		return compareStrings(a.Namespace, b.Namespace)
	}
	return compareStrings(a.Name, b.Name)
}

func compareStrings(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
