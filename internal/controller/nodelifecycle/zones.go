package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The limits are the defaults of kube-controller-manager.
const (
	evictionRate          = 0.1  // nodes per second in a zone
	secondaryEvictionRate = 0.01 // in a large zone where most nodes are not ready
	largeZone             = 50   // nodes; a smaller zone where most nodes are not ready gets no taints
	unhealthyShare        = 0.55
)

// zone counts the nodes of a zone.
type zone struct{ ready, notReady int }

// allNotReady reports whether no node of the zone is ready.
func (z zone) allNotReady() bool { return z.ready == 0 && z.notReady > 0 }

// rate returns the number of nodes per second that may get a NoExecute taint.
func (z zone) rate() float64 {
	total := z.ready + z.notReady
	most := z.notReady > 2 && float64(z.notReady) >= unhealthyShare*float64(total)
	switch {
	case z.allNotReady() || !most:
		return evictionRate
	case total > largeZone:
		return secondaryEvictionRate
	}
	return 0
}

// zoneOf returns the zone of a node by its labels, or "".
func zoneOf(node *corev1.Node) string {
	region, name := node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]
	if region == "" && name == "" {
		return ""
	}
	return region + "/" + name
}

// bucket is a token bucket with capacity 1. The zero value is full.
type bucket struct {
	missing float64
	updated time.Time
}

// take takes a token if there is one at now, and reports whether it did.
func (b *bucket) take(now time.Time, rate float64) bool {
	b.missing = max(0, b.missing-rate*now.Sub(b.updated).Seconds())
	b.updated = now
	if b.missing > 0 || rate == 0 {
		return false
	}
	b.missing = 1
	return true
}
