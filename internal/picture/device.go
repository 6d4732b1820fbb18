package picture

import "slices"

// DeviceState is the state of a device as shown on the map.
type DeviceState string

// The states of devices. A device that is in several of them has the last one of this list.
const (
	DeviceFree DeviceState = "free"
	// DeviceUnavailable is not in use, and cannot be allocated, because its pool is incomplete or
	// devices that overlap with it are in use.
	DeviceUnavailable DeviceState = "unavailable"
	// DeviceReserved belongs to a claim that no pod on a node uses yet.
	DeviceReserved DeviceState = "reserved"
	DeviceHeld     DeviceState = "held"
	DeviceShared   DeviceState = "shared" // by several claims
	DeviceTainted  DeviceState = "tainted"
	// DeviceUnpublished belongs to a claim and is not in a ResourceSlice any more.
	DeviceUnpublished DeviceState = "unpublished"
)

// Device is one device.
type Device struct {
	Name string `json:"name"`
	Kind int    `json:"kind"` // index into Kinds
	// Pool is the name of its pool; "" if that is the name of the node or pool that the device is
	// listed under.
	Pool  string      `json:"pool,omitempty"`
	State DeviceState `json:"state"`
	// Why is the taint, or why the device is unavailable.
	Why string `json:"why,omitempty"`
	// Claims are the claims that have the device in their allocations: namespace/name.
	Claims []string `json:"claims,omitempty"`
}

func (d *Device) equal(other *Device) bool {
	return d.Name == other.Name && d.Kind == other.Kind && d.Pool == other.Pool && d.State == other.State &&
		d.Why == other.Why && slices.Equal(d.Claims, other.Claims)
}

func equalDevices(a, b []Device) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].equal(&b[i]) {
			return false
		}
	}
	return true
}

// Pool is a pool whose devices can be used from several nodes.
type Pool struct {
	Driver string `json:"driver"`
	Name   string `json:"name"`
	// Devices are in the order in which they are published.
	Devices []Device `json:"devices"`
}

// Key returns the driver and name of the pool.
func (p *Pool) Key() string { return p.Driver + "/" + p.Name }

func (p *Pool) equal(other *Pool) bool {
	return p.Key() == other.Key() && equalDevices(p.Devices, other.Devices)
}
