package nodelifecycle

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// health is what is remembered of a node.
type health struct {
	uid types.UID
	// probe is when the node gave the last sign of life, by the clock of the controller.
	probe time.Time
	// heartbeat and renewed are the times of the condition Ready and of the newest Lease that were seen.
	heartbeat, renewed time.Time
}

// observe takes in how a node is seen now, with these leases, any of which may be nil.
func (h *health) observe(node *corev1.Node, now time.Time, leases ...*coordinationv1.Lease) {
	ready := condition(node, corev1.NodeReady)
	if h.uid != node.UID || h.probe.IsZero() {
		*h = health{uid: node.UID, probe: now}
		if ready == nil {
			h.probe = node.CreationTimestamp.Time
		} else {
			h.heartbeat = ready.LastHeartbeatTime.Time
		}
	}
	if ready != nil && !ready.LastHeartbeatTime.Time.Equal(h.heartbeat) {
		h.heartbeat, h.probe = ready.LastHeartbeatTime.Time, now
	}
	for _, lease := range leases {
		if lease != nil && lease.Spec.RenewTime != nil && lease.Spec.RenewTime.After(h.renewed) {
			h.renewed, h.probe = lease.Spec.RenewTime.Time, now
		}
	}
}

// lost reports whether a node has been silent for too long. One that never reported has longer.
func (h *health) lost(node *corev1.Node, now time.Time, grace, startup time.Duration) bool {
	if condition(node, corev1.NodeReady) == nil {
		grace = startup
	}
	return now.Sub(h.probe) > grace
}

// condition returns the condition of a type, or nil.
func condition(node *corev1.Node, of corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == of {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// readiness returns the status of the condition Ready, "" if there is none.
func readiness(node *corev1.Node) corev1.ConditionStatus {
	if ready := condition(node, corev1.NodeReady); ready != nil {
		return ready.Status
	}
	return ""
}
