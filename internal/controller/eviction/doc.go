// Package eviction deletes pods when their time is over. It is shared by the controllers that evict
// because of taints.
//
// # What it decides
//
// A controller provides a Judge, which returns when and why a pod must be evicted. A key is a pod,
// and each reconcile calls the Judge again, so that nothing has to be canceled. A Limiter limits
// deletions.
//
// # Invariants
//   - A pod is deleted with a UID precondition, and only once. The condition DisruptionTarget is
//     written before, also only once, and only over the version in the cache: the response to an
//     earlier write may have been lost.
//   - Pods that are not bound or are being deleted are ignored, and finished pods unless
//     Config.Finished is set.
//   - A pod gets an event if its eviction is canceled.
package eviction
