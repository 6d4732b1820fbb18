package model

import (
	"k8s.io/apimachinery/pkg/types"
)

// Key names a namespaced object; its String is "namespace/name".
type Key = types.NamespacedName

// PoolID names a resource pool. Pool names are unique only within their driver.
type PoolID struct {
	Driver, Pool string
}

func (id PoolID) String() string { return id.Driver + "/" + id.Pool }

// DeviceID names a device across the cluster.
type DeviceID struct {
	Driver, Pool, Device string
}

// PoolID is the pool that the device is in.
func (id DeviceID) PoolID() PoolID { return PoolID{Driver: id.Driver, Pool: id.Pool} }

func (id DeviceID) String() string { return id.Driver + "/" + id.Pool + "/" + id.Device }

// UnitKey names what is placed together: a PodGroup (Group is true) or a pod without one.
type UnitKey struct {
	Group bool
	Key   Key
}

func (k UnitKey) String() string {
	if k.Group {
		return "podgroup " + k.Key.String()
	}
	return "pod " + k.Key.String()
}

func compareKeys(a, b Key) int {
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
