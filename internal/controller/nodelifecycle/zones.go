package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// The limits are those that kube-controller-manager has unless told otherwise.
const (
	evictionRate          = 0.1  // nodes a second, in a zone
	secondaryEvictionRate = 0.01 // in a large zone of which most nodes are not ready
	largeZone             = 50   // nodes; a smaller zone of which most nodes are not ready loses no more
	unhealthyShare        = 0.55
)

// zone is what is counted of the nodes of a zone.
type zone struct{ ready, notReady int }

// down reports whether no node of the zone is ready.
func (z zone) down() bool { return z.ready == 0 && z.notReady > 0 }

// rate returns how many nodes a second may be given a taint that evicts.
func (z zone) rate() float64 {
	total := z.ready + z.notReady
	most := z.notReady > 2 && float64(z.notReady) >= unhealthyShare*float64(total)
	switch {
	case z.down() || !most:
		return evictionRate
	case total > largeZone:
		return secondaryEvictionRate
	}
	return 0
}

// zoneOf returns the zone of a node, "" if its labels do not say it.
func zoneOf(node *corev1.Node) string {
	region, name := node.Labels[corev1.LabelTopologyRegion], node.Labels[corev1.LabelTopologyZone]
	if region == "" && name == "" {
		return ""
	}
	return region + "/" + name
}

// bucket limits a rate. Its zero value is full, and holds one.
type bucket struct {
	missing float64
	at      time.Time
}

// take reports whether one more is allowed at now, and counts it.
func (b *bucket) take(now time.Time, rate float64) bool {
	b.missing = max(0, b.missing-rate*now.Sub(b.at).Seconds())
	b.at = now
	if b.missing > 0 || rate == 0 {
		return false
	}
	b.missing = 1
	return true
}
