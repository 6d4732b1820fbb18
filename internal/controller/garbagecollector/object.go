package garbagecollector

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object holds the metadata for garbage collection. It is immutable.
type Object struct {
	Kind            schema.GroupVersionKind
	Namespace       string // "" for cluster-scoped kinds
	Name            string
	UID             types.UID
	ResourceVersion string
	Owners          []metav1.OwnerReference
	Finalizers      []string
	Deleting        bool
}

// NewObject returns the Object for the metadata of an object of this kind.
func NewObject(kind schema.GroupVersionKind, meta metav1.Object) *Object {
	return &Object{
		Kind:            kind,
		Namespace:       meta.GetNamespace(),
		Name:            meta.GetName(),
		UID:             meta.GetUID(),
		ResourceVersion: meta.GetResourceVersion(),
		Owners:          meta.GetOwnerReferences(),
		Finalizers:      meta.GetFinalizers(),
		Deleting:        meta.GetDeletionTimestamp() != nil,
	}
}

// awaitsDependents reports whether the object is being deleted in the foreground: it is removed
// when no blocking dependent is left.
func (o *Object) awaitsDependents() bool {
	return o.Deleting && slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents)
}

// orphansDependents reports whether the object is being deleted and its dependents are kept.
func (o *Object) orphansDependents() bool {
	return o.Deleting && slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents)
}

// reference returns the first reference of o to an owner.
func (o *Object) reference(owner types.UID) (metav1.OwnerReference, bool) {
	i := slices.IndexFunc(o.Owners, func(ref metav1.OwnerReference) bool { return ref.UID == owner })
	if i < 0 {
		return metav1.OwnerReference{}, false
	}
	return o.Owners[i], true
}

// blocks reports whether the foreground deletion of owner waits for o.
func (o *Object) blocks(owner types.UID) bool {
	ref, ok := o.reference(owner)
	return ok && ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion
}

// groupKind returns the kind of a reference, without the version.
func groupKind(ref metav1.OwnerReference) schema.GroupKind {
	return schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
}
