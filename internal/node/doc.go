// Package node is the node agent for all nodes of a simulated fleet.
//
// It registers the nodes, publishes their devices as ResourceSlices, and manages the pods bound to
// them: a pod runs once every claim that it uses is allocated and reserved for it (R39;
// claims.CanRun decides), it ends when its containers end, and it is deleted when it has stopped
// after a deletion request. A Runtime runs the containers; the simulated runtime only keeps time.
//
// # Devices
//
// All claims of a pod are prepared (Devices.Prepare) before the pod starts. The pod holds them from
// before preparation until it has ended. When the last pod on a node that holds a claim has ended,
// the claim is unprepared, and only then the end is reported. A pod that no longer exists in the
// API because it was deleted by force is stopped within the grace period of the request or, if
// there is none, its own, and holds its devices until then: a pod that was allocated one of them
// waits, with an event that names the holder (F39). This covers devices, but not other devices that
// take from the same counters: their driver must refuse. After a restart of the agent, running pods
// hold what they held before; nothing is started, prepared or unprepared again.
//
// With Options.PluginsDir, DRA drivers register over the kubelet plugin protocol (package plugins),
// and prepare and unprepare the claims. They are called in the background. While a pod waits for
// them, its containers are in ContainerCreating. The CDI device IDs in their responses are in
// AnnotationDevices of the pod, and the health of its devices is in the status of its containers.
// A driver publishes its devices itself: those that the fleet describes for it are withdrawn.
//
// Invariants:
//   - Pods on nodes of other fleets are never changed, and a pod is only written under its UID.
//   - A pod costs one status write until it runs, unless it waits for drivers. An idle or restarted
//     agent writes only the Lease of the fleet.
//   - Fields of others on a node or in a pod's status (taints, labels, spec.unschedulable,
//     conditions, resourceClaimStatuses) are preserved.
//   - No decision is based on a cache that does not show the agent's own last write yet. A claim
//     that a pod may use without being named in it, nor through the PodGroup that it was created
//     for, is read from the API: its name alone does not identify its allocation.
//   - There is no goroutine per pod: work waits in queues, and later work in their heap.
//
// A Node that is deleted while the agent runs is not recreated until the agent restarts, like a
// machine that was removed. All nodes of the fleet share one Lease, which they name by an
// annotation (docs/adr/0008). A Node with AnnotationStopped simulates a machine with a failed
// agent: it renews no Lease, reports nothing, and its pods are not managed.
package node
