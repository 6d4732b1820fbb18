package garbagecollector

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// OwnerState is the state of the owner that a reference names.
type OwnerState string

const (
	// Solid means that the owner exists and protects its dependents.
	Solid OwnerState = "solid"
	// Waiting means that the owner is being deleted and waits for its dependents.
	Waiting OwnerState = "waiting"
	// Absent means that the owner does not exist.
	Absent OwnerState = "absent"
	// Unseen means that the owner must be read from the API.
	Unseen OwnerState = "unseen"
	// Unknown means that the kind is not served or cannot be read, so that nothing can be
	// concluded.
	Unknown OwnerState = "unknown"
)

// Owner is an owner reference with the state of the owner.
type Owner struct {
	Ref   metav1.OwnerReference
	State OwnerState
}

// Owners returns the owners of o with their states in the graph.
func (g *Graph) Owners(o *Object) []Owner {
	g.mu.Lock()
	defer g.mu.Unlock()
	owners := make([]Owner, len(o.Owners))
	for i, ref := range o.Owners {
		owners[i] = Owner{Ref: ref, State: g.ownerState(o, ref)}
	}
	return owners
}

func (g *Graph) ownerState(dependent *Object, ref metav1.OwnerReference) OwnerState {
	n := g.nodes[ref.UID]
	kind, ok := g.kinds[groupKind(ref)]
	switch {
	case ok && kind.Namespaced && dependent.Namespace == "":
		return Unknown // and will always be
	case n != nil && n.absent:
		return Absent
	case !ok:
		return Unknown
	case n == nil || n.object == nil:
		return Unseen
	}
	switch g.matchReference(dependent, ref, n.object) {
	case otherPlace:
		return Absent
	case otherKind:
		return Unseen
	}
	return stateOf(n.object)
}

// stateOf returns the state of an existing owner.
func stateOf(owner *Object) OwnerState {
	if owner.awaitsDependents() {
		return Waiting
	}
	return Solid
}

type referenceMatch int

const (
	sameObject referenceMatch = iota // the reference names this object
	otherPlace                       // it names another place, where this UID cannot exist
	otherKind                        // it names another kind; an object may be served as two kinds
)

// matchReference compares a reference with the object that has its UID.
func (g *Graph) matchReference(dependent *Object, ref metav1.OwnerReference, owner *Object) referenceMatch {
	switch {
	case groupKind(ref) != owner.Kind.GroupKind():
		return otherKind
	case ref.Name != owner.Name, owner.Namespace != "" && owner.Namespace != dependent.Namespace:
		return otherPlace
	}
	return sameObject
}

// Place is the location of an owner according to a reference.
type Place struct {
	APIVersion, Kind, Namespace, Name string
}

// Places returns the locations of an unseen owner according to its dependents.
func (g *Graph) Places(owner types.UID) []Place {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.nodes[owner]
	if n == nil {
		return nil
	}
	var places []Place
	seen := map[Place]bool{}
	for _, d := range n.dependents {
		ref, ok := d.object.reference(owner)
		if place := placeOf(d.object, ref); ok && !seen[place] {
			seen[place] = true
			places = append(places, place)
		}
	}
	return places
}

func placeOf(dependent *Object, ref metav1.OwnerReference) Place {
	return Place{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: dependent.Namespace, Name: ref.Name}
}
