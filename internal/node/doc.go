// Package node is the machines' side of the cluster: one agent that stands for all nodes of a fleet.
//
// It registers the nodes, publishes their devices as ResourceSlices, and looks after the pods that are bound to them: a pod
// runs once every claim that it uses is allocated and reserved for it (R39; claims.CanRun decides), it ends when its
// containers end, and it is deleted when it has stopped after a request to delete it. What really runs is behind Runtime; the
// simulated runtime runs nothing and keeps time.
//
// # Devices
//
// All claims of a pod are prepared (Devices.Prepare) before the pod is started, and the pod holds them from before that until
// it has ended. When the last pod on the node that held a claim has ended, the claim is taken back (Unprepare), and only then
// the end is reported. A pod that the API does not show any more because it was deleted by force is ended within the grace
// period of the request, or else its own, and holds its devices meanwhile: a pod that is given one of them waits, with an event that names the holder (F39).
// That covers the devices themselves, not others that draw on the same counters: their driver has to refuse. When the agent
// is started anew, pods that run hold what they held; nothing is started, prepared or taken back.
//
// DRA drivers that speak the kubelet plugin protocol (gRPC, v1) fit behind Devices: Prepare is NodePrepareResources and
// Unprepare NodeUnprepareResources of each driver in the claim's results, with the namespace, name and UID of the claim that
// both are given; both are idempotent there, as they are wanted here. The CDI device IDs in the answer are for the containers:
// a Runtime that starts real ones shares an object with its Devices and takes them from there in Start, which comes after
// all claims have been prepared.
//
// Invariants:
//   - Pods of nodes that are not of this fleet are never touched, and a pod is only written under its own UID.
//   - A pod costs one status write until it runs. An idle agent, and a restarted one, write nothing but the fleet's Lease.
//   - What others wrote on a node or in a pod's status (taints, labels, spec.unschedulable, conditions, resourceClaimStatuses) stays.
//   - Nothing is decided on a cache that has not shown the agent's own last write yet. A claim that a pod may use without being
//     named in it, nor through the PodGroup that it was made for, is read live: its name alone does not say whose devices it has.
//   - The agent starts no goroutine for a pod: work waits in queues, and what is due later in their heap.
//
// A Node that is deleted while the agent runs stays away until the agent is started again, as with a machine that is taken out.
// All nodes of the fleet have one Lease, which they name by an annotation (docs/adr/0008). A Node with the annotation
// AnnotationStopped is a machine whose agent has died: it gives no sign of life, reports nothing, and its pods are left alone.
package node
