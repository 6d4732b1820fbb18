package garbagecollector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Action is what to do with an object that has owners; the zero value is nothing.
type Action struct {
	// Delete is how to delete the object; "" means that it stays.
	Delete metav1.DeletionPropagation
	// Unblock says that the object must stop blocking its owners first: one of its
	// dependents waits for dependents too, which may be a circle.
	Unblock bool
	// Drop lists the owners to be taken off an object that stays.
	Drop []types.UID
}

// Decide says what to do with o, not being deleted yet, given the states of its owners.
//
//   - An owner about which nothing is known: nothing.
//   - A solid owner: o stays, and the other owners that do not exist or wait for o are
//     taken off it.
//   - All absent: o is deleted, the way its finalizers ask for.
//   - Waiting owners: o is deleted, and if it has dependents these go first.
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
		return Action{Delete: metav1.DeletePropagationForeground, Unblock: slices.ContainsFunc(dependents, (*Object).awaitsDependents)}
	case slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents):
		return Action{Delete: metav1.DeletePropagationOrphan}
	case slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents):
		return Action{Delete: metav1.DeletePropagationForeground}
	}
	return Action{Delete: metav1.DeletePropagationBackground}
}
