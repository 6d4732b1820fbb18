// Package model holds the values that the pure core decides on, and the one live State that they make up.
//
// It decides nothing about placement. It answers look-ups in constant time, keeps the indices that alloc and sched
// need (free resources a node, holders a device, members a group, matching pods a topology domain) and applies one
// change at a time at a cost that grows with the change, never with the cluster.
//
// # Observed and assumed
//
// What the API server says is observed (PutPod, PutClaim, …). What a Plan has decided and the API server has not
// confirmed yet is assumed (AssumePod, AssumeClaim): it lies over the observed object until that object shows a
// node or an allocation of its own, is replaced by one with another UID, or the assumption is forgotten
// (ForgetPod, ForgetClaim). A plan may also make a claim, which is there from AssumeClaim on. Look-ups answer with the
// effective value.
//
// # Invariants
//
//   - Values handed to a Put function belong to the State from then on; values from look-ups are read-only.
//   - An older version of an object (by resource version, same UID) never replaces a newer one.
//   - A device that a claim holds stays held when its slice goes away.
//   - Only slices of a pool's newest generation count, and a pool that lacks one of them is not complete. It is put together when
//     somebody looks at it, not once for each of its slices.
//   - Undoing a Tx restores the State exactly.
//
// The package uses no network, clock, environment, global randomness, logging or goroutines. Conversion from API
// objects (NodeFrom, PodFrom, …) lives only here.
package model
