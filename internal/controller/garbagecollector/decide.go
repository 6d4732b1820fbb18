package garbagecollector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Action is the action for an object that has owners. The zero value means nothing.
type Action struct {
	// Delete is the propagation policy of the deletion; "" means that the object is kept.
	Delete metav1.DeletionPropagation
	// Unblock means that the object must stop blocking its owners first: one of its dependents
	// waits for dependents as well, which may be a cycle.
	Unblock bool
	// Drop lists the owners to remove from an object that is kept.
	Drop []types.UID
}

// Decide returns the action for o, which is not being deleted, given the states of its owners.
//   - An owner is Unknown: nothing.
//   - An owner is Solid: o is kept, and the owners that are absent or wait for o are removed from
//     it.
//   - All owners are Absent: o is deleted with the policy that its finalizers request.
//   - Owners are Waiting: o is deleted, in the foreground if it has dependents.
func Decide(o *Object, owners []Owner, dependents []*Object) Action {
	states := map[OwnerState][]types.UID{}
	for _, owner := range owners {
		states[owner.State] = append(states[owner.State], owner.Ref.UID)
	}
	switch {
	case len(owners) == 0 || len(states[Unknown])+len(states[Unseen]) > 0:
		return Action{}
	case len(states[Solid]) > 0:
		return Action{Drop: slices.Concat(states[Absent], states[Waiting])}
	case len(states[Waiting]) > 0 && len(dependents) > 0:
		return Action{
			Delete:  metav1.DeletePropagationForeground,
			Unblock: slices.ContainsFunc(dependents, (*Object).awaitsDependents),
		}
	case slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents):
		return Action{Delete: metav1.DeletePropagationOrphan}
	case slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents):
		return Action{Delete: metav1.DeletePropagationForeground}
	}
	return Action{Delete: metav1.DeletePropagationBackground}
}
