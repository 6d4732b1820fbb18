// Package recovery breaks devices of running gangs, and checks what becomes of the gangs (P2, P3).
//
// The cases are the product of what breaks (a node is cut off or deleted, a device is tainted, a
// slice is withdrawn, one of the nodes that share a device is lost), how the gang is made (a Job, a
// Deployment, plain pods), how many claims its PodGroup has (one, two), and whether other devices
// are free. All parts of the product run on a server in memory, in a bubble of testing/synctest.
//
// What must hold:
//   - With free devices elsewhere, the whole gang runs there within its tolerationSeconds and five
//     seconds after the taint or the deletion shows, without a person.
//   - Without, no claim loses its devices, and the condition of the PodGroup names what broke.
//   - Nothing replaces plain pods that were evicted. Whoever made them creates them again, and then
//     the same holds for the new pods.
//   - Devices that a node which is cut off shares with others are not freed, since other claims could
//     get them while it may still use them. The condition says so, until the Node is deleted.
//   - A withdrawn slice evicts no pod, since drivers withdraw slices when they restart. The same
//     holds once the pods are replaced for another reason.
package recovery
