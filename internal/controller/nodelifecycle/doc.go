// Package nodelifecycle finds nodes that stopped reporting, and taints nodes by their conditions
// (P3).
//
// # What it decides
//
// A node gives a sign of life when its Lease in kube-node-lease is renewed, or when the heartbeat
// of its condition Ready changes. Nodes of a simulated fleet name a Lease that they share in an
// annotation (docs/adr/0008). Signs of life are timed by the clock of the controller, never by that
// of a node. A node without one for Options.GracePeriod is lost: its conditions become Unknown, and
// its pods become not ready.
//
// Conditions and spec.unschedulable lead to taints with the effect NoSchedule. A node that is not
// ready or unreachable gets a taint with the effect NoExecute in addition. The rate of these is
// limited by zone, and none is added while no node of the cluster is ready, because then it is more
// likely that the controller is disconnected than that all machines failed.
//
// # Invariants
//
//   - Missing information is not held against a node: after a time in which the server did not
//     answer or the controller did not run, all nodes get a full grace period.
//   - Taints with other keys are not changed, and a node without a condition Ready is not changed
//     at all.
//   - Nothing is written for nodes that report and have the right conditions and taints.
//
// # What it never does
//
// It evicts no pods; package nodetaint does, because of the taints. It deletes no nodes.
package nodelifecycle
