// Package daemonset keeps one pod of a DaemonSet on each suitable node, and updates the pods to a
// new template node by node.
//
// Decide is the complete decision, a function of the DaemonSet, the nodes, its pods and the time:
// on which nodes to create a pod, which pods to delete, and the status. The Controller gathers,
// calls it, and writes: pods first, then the status, once. A pod names its node by a required
// affinity; the scheduler binds it.
//
// Invariants: no pod is created on a node that already has an active one, except one more for a
// rolling update with maxSurge. A rolling update deletes at most maxUnavailable available pods,
// minus those that are unavailable anyway. The delay before a failing pod is replaced increases.
// Nothing is decided while an own write may be missing from the cache.
package daemonset
