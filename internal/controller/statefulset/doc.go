// Package statefulset keeps the pods of a StatefulSet: one for each ordinal, with a name and volume claims that stay when
// the pod is replaced, created and deleted in order, and moved to a new template from the highest ordinal down.
//
// Decide is the whole decision, a function of the StatefulSet, its pods, their volume claims, the two revisions between
// which it moves, and the time: what to create, repair and delete, and the status. The Controller gathers, calls it, and
// writes: volume claims before the pod that uses them, pods, then the status, once.
//
// Invariants: there is never more than one pod for an ordinal, and a pod is not replaced before it is gone. OrderedReady:
// a pod is created only when all before it are available, and deleted for scaling only when all after it are gone.
// RollingUpdate: of the pods with an old template that are available at most maxUnavailable minus those that are not
// available are deleted at once, and none below the partition. A volume claim is never deleted here; its owner references
// say when the garbage collector does. Nothing is decided while an own write may be missing from the cache.
package statefulset
