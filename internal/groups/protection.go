package groups

import (
	"slices"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Protection is what has to happen to the protection finalizer of a PodGroup.
type Protection int

const (
	// Keep: nothing has to change.
	Keep Protection = iota
	// Add: a live PodGroup lacks it (R46).
	Add
	// Remove: the PodGroup is being deleted, and all pods that name it have finished.
	Remove
)

// Protect decides about the protection finalizer, given all pods of the namespace
// that name the PodGroup (others are passed over). Blocking are the pods that it
// still waits for.
func Protect(group *scheduling.PodGroup, pods []*core.Pod) (what Protection, blocking []*core.Pod) {
	protected := slices.Contains(group.Finalizers, scheduling.ProtectionFinalizer)
	if group.DeletionTimestamp == nil {
		if protected {
			return Keep, nil
		}
		return Add, nil
	}
	for _, pod := range pods {
		if names(pod, group) && !pod.Finished() {
			blocking = append(blocking, pod)
		}
	}
	if protected && len(blocking) == 0 {
		return Remove, nil
	}
	return Keep, blocking
}
