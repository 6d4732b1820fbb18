// Package eviction deletes pods when the time that they are given is over: what the controllers that evict because of taints
// have in common.
//
// # What it decides
//
// Nothing about taints: a controller gives it a Judge, which says of a pod when it has to go and why. One key is one pod, and
// each look asks the Judge anew, so that what no longer evicts needs no bookkeeping to be called off. Deletions are limited
// by a Limiter.
//
// # Invariants
//
//   - A pod is deleted only under its UID, and only once. Its condition DisruptionTarget is written first, and only once too, over
//     no pod that the cache does not show: a write may have been made whose answer was lost.
//   - A pod that is not bound, has ended or is being deleted is left alone.
//   - A pod hears of it when an eviction that was due is called off.
package eviction
