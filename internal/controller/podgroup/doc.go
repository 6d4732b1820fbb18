// Package podgroup keeps the protection finalizer of PodGroups: it adds it to live
// ones that lack it, and takes it off once a PodGroup is being deleted and all pods
// that name it have finished (R35, R46). What is to be done is decided by
// groups.Protect; the Controller gathers from the caches and writes.
//
// Invariants: foreign finalizers are never touched; every write names the resource
// version that was looked at, so a change meanwhile is never lost; the pods of a
// PodGroup are found through an index. The package writes no conditions: the scheduler does.
package podgroup
