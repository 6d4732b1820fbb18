// Package podgroup manages the protection finalizer of PodGroups: it adds the finalizer to
// PodGroups without it, and removes it when a PodGroup is being deleted and all its pods have
// finished (R35, R46). groups.Protect decides; the Controller reads from caches and writes.
//
// Invariants: other finalizers are never changed; every write has the resource version that was
// read, so that no concurrent change is lost; the pods of a PodGroup are found through an index.
// The package writes no conditions; the scheduler does.
package podgroup
