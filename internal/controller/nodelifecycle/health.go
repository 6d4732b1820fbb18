package nodelifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/fleet"
)

// health is the remembered state of a node.
type health struct {
	uid types.UID
	// observed is the version of the node from which ready, zone and sharedLease were read. Nodes of a
	// large cluster rarely change, so that a pass reads almost nothing.
	observed    *corev1.Node
	ready       corev1.ConditionStatus // status of the condition Ready, or "" if there is none
	zone        string
	sharedLease string // name of a Lease that several nodes share, or ""
	// plain means that the node is ready, and neither has nor needs taints.
	plain bool
	// probe is the time of the last sign of life, by the clock of the controller.
	probe time.Time
	// heartbeat, renewed and sharedRenewed are the last seen times of the condition Ready, of the
	// Lease of the node and of the shared one. They are of other clocks, which may be set back, so
	// that any change counts.
	heartbeat, renewed, sharedRenewed time.Time
}

// read updates the state from a version of the node.
func (h *health) read(node *corev1.Node) {
	if h.observed == node {
		return
	}
	h.observed, h.ready, h.zone = node, readiness(node), zoneOf(node)
	h.sharedLease = node.Annotations[fleet.AnnotationLease]
	h.plain = h.ready == corev1.ConditionTrue && len(node.Spec.Taints) == 0 && len(conditionTaints(node, keepTaint)) == 0
}

// observe updates the state from the current node and Leases.
func (h *health) observe(node *corev1.Node, now time.Time, leases leaseTimes) {
	if h.observed != node || h.probe.IsZero() {
		h.heartbeats(node, now)
		h.read(node)
	}
	h.recordRenewal(&h.renewed, leases.renewal(node.Name), now)
	h.recordRenewal(&h.sharedRenewed, leases.renewal(h.sharedLease), now)
}

// heartbeats records a heartbeat in the condition Ready.
func (h *health) heartbeats(node *corev1.Node, now time.Time) {
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
}

// recordRenewal records the renewal time of a Lease, zero if there is no Lease. last is the one before.
func (h *health) recordRenewal(last *time.Time, renewed, now time.Time) {
	if !renewed.IsZero() && !renewed.Equal(*last) {
		*last, h.probe = renewed, now
	}
}

// isUnresponsive reports whether the node has sent no heartbeat for too long. The limit is longer for
// a node that never reported.
func (h *health) isUnresponsive(now time.Time, grace, startup time.Duration) bool {
	if h.ready == "" {
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

// readiness returns the status of the condition Ready, or "" if there is none.
func readiness(node *corev1.Node) corev1.ConditionStatus {
	if ready := condition(node, corev1.NodeReady); ready != nil {
		return ready.Status
	}
	return ""
}
