// Package recovery breaks devices of running gangs, and checks the consequences (P2, P3).
//
// The cases are the product of the failure (a node is disconnected or deleted, a device is tainted,
// a slice is withdrawn, one of the nodes that share a device is lost), the origin of the gang (a
// Job, a Deployment, plain pods), the number of claims of its PodGroup (one, two), and whether
// other devices are free. All components of the product run on a server in memory, in a bubble of
// testing/synctest.
//
// Invariants:
//   - If devices are free elsewhere, the whole gang runs there within its tolerationSeconds and
//     five seconds after the taint or the deletion, without intervention.
//   - If none are free, no claim loses its devices, and the condition of the PodGroup names the
//     failure.
//   - Evicted plain pods are not replaced. When their creator creates them again, the same holds
//     for the new pods.
//   - Devices that a disconnected node shares with others are not deallocated, because other claims
//     could be allocated them while the node may still use them. The condition reports that until
//     the Node is deleted.
//   - A withdrawn slice evicts no pod, because drivers withdraw slices when they restart. The same
//     holds once the pods are replaced for another reason.
package recovery
