// Package node is the machines' side of the cluster: one agent that stands for all nodes of a fleet.
//
// It registers the nodes, publishes their devices as ResourceSlices, and looks after the pods that are bound to them: a pod
// runs once every claim that it uses is allocated and reserved for it (R39; claims.CanRun decides), it ends when its
// containers end, and it is deleted when it has stopped after a request to delete it. What really runs is behind Runtime; the
// simulated runtime runs nothing and keeps time.
//
// Invariants:
//   - Pods of nodes that are not of this fleet are never touched, and a pod is only written under its own UID.
//   - A pod costs one status write until it runs. An idle agent writes nothing; a restarted one neither.
//   - What others wrote on a node or in a pod's status (taints, labels, spec.unschedulable, conditions, resourceClaimStatuses) stays.
//   - Nothing is decided on a cache that has not shown the agent's own last write yet.
//   - The agent starts no goroutine for a pod: work waits in queues, and what is due later in their heap.
//
// A Node that is deleted while the agent runs stays away until the agent is started again, as with a machine that is taken out.
// A Node with the annotation AnnotationStopped is a machine whose agent has died: it reports nothing and its pods are left alone.
package node
