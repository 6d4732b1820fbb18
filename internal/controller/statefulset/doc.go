// Package statefulset manages the pods of a StatefulSet: one for each ordinal, with a name and
// volume claims that stay when the pod is replaced, created and deleted in order, and updated to a
// new template from the highest ordinal down.
//
// Decide is the whole decision, a pure function of the StatefulSet, its pods, their volume claims,
// the two revisions of a rollout, and the time. It returns what to create, repair and delete, and
// the status. The Controller reads from caches, calls it, and writes: volume claims before the pod
// that uses them, pods, then the status, once.
//
// Invariants: an ordinal never has more than one pod, and a pod is not replaced before it is
// deleted. OrderedReady: a pod is created only when all lower ones are available, and deleted for
// scaling only when all higher ones are deleted. RollingUpdate: pods with an old template are
// deleted only while at most maxUnavailable pods are unavailable, and none below the partition. The
// controller never deletes a volume claim; the owner references decide when the garbage collector
// does. Nothing is decided while an own write may be missing from the cache.
package statefulset
