// Package replicaset keeps as many pods as a ReplicaSet asks for: it adopts
// matching orphans, releases pods that match no longer, creates what is missing,
// deletes what is too much, and reports counts in the status.
//
// Decided here: which pods count (Sort), how many are created and which are
// deleted (Decide), in which order (ByDeletionPreference), and the status (Status); these are
// functions of values. The Controller gathers from the caches, decides, and writes.
//
// Invariants: no pods are created or deleted while an own write may be missing from
// the cache; at most burst pods are created or deleted in one pass; pods of other
// controllers are never touched. The package never decides where a pod runs.
package replicaset
