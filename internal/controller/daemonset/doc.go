// Package daemonset keeps one pod of a DaemonSet on each node that suits it, and moves the pods to a new template node by
// node.
//
// Decide is the whole decision, a function of the DaemonSet, the nodes, its pods and the time: on which nodes to create a
// pod, which pods to delete, and the status. The Controller gathers, calls it, and writes: pods, then the status, once. A
// pod names its node by a required affinity; that it gets there is the scheduler's work.
//
// Invariants: no pod is created on a node that already has one which counts, except one more for a rolling update with
// maxSurge; a rolling update deletes at most maxUnavailable pods that are available, less what is not available anyway. A
// pod that fails again and again is replaced ever later. Nothing is decided while an own write may be missing from the
// cache.
package daemonset
