// Package replicaset keeps the number of pods that a ReplicaSet requests: it adopts matching
// orphans, releases pods that no longer match, creates missing pods, deletes surplus pods, and
// reports the counts in the status.
//
// A Source can also show objects of another kind as ReplicaSets: package replicationcontroller
// does.
//
// It decides which pods count (Sort), how many are created and which are deleted (Decide), in which
// order (ByDeletionPreference), and the status (Status). These are pure functions. The Controller
// reads from caches, decides, and writes.
//
// Invariants: no pods are created or deleted while an own write may be missing from the cache; one
// pass creates or deletes at most burst pods; pods of other controllers are never changed. The
// package never decides where a pod runs.
package replicaset
