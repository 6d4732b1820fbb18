// Package nodelifecycle finds nodes that stopped reporting, and taints nodes by their condition (P3).
//
// # What it decides
//
// A node gives a sign of life when its Lease in kube-node-lease is renewed, or when the heartbeat of its
// condition Ready changes. Nodes of a simulated fleet name the one Lease that stands for all of them by an
// annotation (docs/adr/0008). Signs are timed by the clock of the controller, never by that of a node.
// A node without a sign for Options.GracePeriod is lost: its conditions become Unknown, and its pods are
// not ready any more.
//
// Conditions and spec.unschedulable have taints with the effect NoSchedule. A node that is not ready or
// unreachable gets a taint with the effect NoExecute in addition; these are limited by zone, and none are
// given while no node of the cluster is ready: then it is more likely that the controller is cut off than
// that all machines are.
//
// # Invariants
//
//   - A node is not judged by what was not seen: after a time in which the server did not answer, or in which
//     the controller did not run, all nodes have a full grace period again.
//   - Taints of other keys stay, and so does everything of a node that has no condition Ready yet.
//   - Nothing is written about nodes that report and are as they should be.
//
// # What it never does
//
// It evicts no pods: package nodetaint does that, because of the taints. It deletes no nodes.
package nodelifecycle
