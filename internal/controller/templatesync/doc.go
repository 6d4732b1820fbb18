// Package templatesync synchronizes ResourceClaimTemplates with the ClusterResourceClaimTemplates
// of allot.dev, on any Kubernetes cluster with DRA (R43, F31).
//
// Decide is pure: it compares the templates of one namespace with those that originals need there,
// and returns steps and standings. The Controller reads from three caches, decides, and carries the
// steps out; statusOf sums up the standings. One namespace is one key, so that one decision handles
// all originals that need the same name there.
//
// Invariants:
//   - An object without a mark of this controller is never written. A copy is created by POST,
//     which fails if the name exists; repairs and deletions have the UID and resource version that
//     were read as preconditions.
//   - The spec of a copy is immutable, so that a change needs another object: the copy is deleted
//     with those preconditions, and the same worker immediately creates the new one, even if the
//     process is stopped in between. Before the first deletion for a new content the server must
//     have accepted that content, if necessary in a dry run: rejected content replaces nothing.
//   - Copies of a deleted original are deleted by the garbage collector, through their owner
//     reference. A finalizer would need the controller for each deletion: without it, originals and
//     the definition of the kind could not be deleted. With --cascade=orphan, the copies stay.
//   - Nothing is decided until the cache shows the controller's own writes, so that nothing is
//     created twice.
//   - In sync, there are no requests except watches.
//
// A copy whose content was replaced by hand is recognized without reading specs: a copy must have
// been created by this field manager (metadata.managedFields) and have the hash of the content. So
// the cache of templates holds only metadata, and defaults that a server or a webhook adds to a
// spec make no difference.
//
// The package never reads or writes claims and pods, and changes only the status of originals.
package templatesync
