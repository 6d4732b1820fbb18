package plugins

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// PreparedDevice is a device of a prepared claim, with its health.
type PreparedDevice struct {
	Driver string
	Device
	Health  corev1.ResourceHealthStatus
	Message string
	// Expires is when the health becomes unknown, unless the driver reports it again. It is zero if
	// it is unknown.
	Expires time.Time
}

// Devices returns the devices that the drivers have prepared for a claim on a node, by driver.
func (h *Host) Devices(nodeName, namespace, claim string) []PreparedDevice {
	n, ok := h.nodes[nodeName]
	if !ok {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.records.claims[types.NamespacedName{Namespace: namespace, Name: claim}]
	if r == nil {
		return nil
	}
	var out []PreparedDevice
	for _, driver := range slices.Sorted(maps.Keys(r.Drivers)) {
		for _, device := range r.Drivers[driver] {
			out = append(out, n.withHealth(driver, device))
		}
	}
	return out
}

// withHealth adds the report of the plugin that registered last, of those that have one. The lock
// must be held.
func (n *node) withHealth(driver string, device Device) PreparedDevice {
	out := PreparedDevice{Driver: driver, Device: device, Health: corev1.ResourceHealthStatusUnknown}
	for _, p := range n.drivers[driver] {
		report, ok := p.reports[deviceKey{device.Pool, device.Device}]
		if ok && time.Now().Before(report.expires) {
			out.Health, out.Message, out.Expires = report.health, report.message, report.expires
		}
	}
	return out
}
