package groups

import (
	"slices"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Protection is the change to make to the protection finalizer of a PodGroup.
type Protection int

const (
	// Keep means that no change is needed.
	Keep Protection = iota
	// Add means that a PodGroup lacks the finalizer and is not being deleted (R46).
	Add
	// Remove means that the PodGroup is being deleted and all its pods have finished.
	Remove
)

// Protect returns the change for the protection finalizer. pods must include all pods of the
// namespace that name the PodGroup; others are ignored. blocking are the pods that delay the
// removal.
func Protect(group *scheduling.PodGroup, pods []*core.Pod) (what Protection, blocking []*core.Pod) {
	protected := slices.Contains(group.Finalizers, scheduling.ProtectionFinalizer)
	if group.DeletionTimestamp == nil {
		if protected {
			return Keep, nil
		}
		return Add, nil
	}
	for _, pod := range pods {
		if isMember(pod, group) && !pod.Finished() {
			blocking = append(blocking, pod)
		}
	}
	if protected && len(blocking) == 0 {
		return Remove, nil
	}
	return Keep, blocking
}
