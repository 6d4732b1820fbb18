// Package templatesync keeps ResourceClaimTemplates in step with the ClusterResourceClaimTemplates of allot.dev, on any
// Kubernetes cluster with DRA (R43, F31).
//
// Decide is the pure part: what is in one namespace, and what is wanted there → steps and standings. The Controller
// gathers from three caches, decides, and takes the steps; statusOf sums the standings up. One namespace is one key,
// so that two originals that want one name there meet in one decision.
//
// Invariants:
//   - What bears no mark of ours is never written to. A copy is made by a plain POST, which a name that is taken
//     refuses; repairs and deletions name the UID and the resource version of what was looked at.
//   - A copy's spec is immutable, so that a change means another object: deleted with those preconditions, made at
//     once by the same worker, also when the process is told to stop in between. Before the first deletion for a new
//     content the server has taken that content, in a dry run if need be: what it refuses replaces nothing.
//   - Copies of a deleted original are the garbage collector's, by ownerReference. (A finalizer would need the
//     controller for each deletion: without it originals, and the definition of the kind, could not be deleted. And
//     so --cascade=orphan means what it says: the copies stay.)
//   - What the cache does not show yet of the controller's own writes is waited for, so that nothing is made twice.
//   - In step, nothing is requested but watches.
//
// How it knows a copy whose content was swapped by hand, without reading specs: the object must be one that this
// field manager made (metadata.managedFields), and bear the hash of the wanted content. So the cache of templates holds
// metadata only, and what a server or a webhook adds to a spec makes no difference.
//
// The package never reads or writes claims and pods, and never changes an original but for its status.
package templatesync
