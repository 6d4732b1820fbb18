// Package podgc deletes pods whose end no node will report: pods of nodes that no longer exist,
// pods that were deleted before they had a node, and pods that are being deleted on a node with the
// taint out-of-service.
//
// Decide decides about one pod. The Controller waits for the quarantine of missing nodes, asks the
// API whether they exist, sets the phase of pods to Failed and deletes them without a grace period.
//
// Invariants: a pod of a missing node that is not being deleted is changed only when the node has
// been missing for the whole quarantine and the API confirms that. Nothing is written while all
// nodes exist. Finished pods are kept as long as their node exists.
package podgc
