package garbagecollector

import (
	"encoding/json"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// patch is a JSON merge patch, which all kinds support. Because it replaces whole lists, it
// includes the version of the object.
type patch struct {
	Metadata map[string]any `json:"metadata"`
}

func newPatch(o *Object, field string, value any) []byte {
	text, err := json.Marshal(patch{map[string]any{"uid": o.UID, "resourceVersion": o.ResourceVersion, field: value}})
	if err != nil {
		panic(err) // strings and owner references can always be encoded
	}
	return text
}

// ownersPatch removes owners from o.
func ownersPatch(o *Object, drop []types.UID) []byte {
	kept := slices.DeleteFunc(slices.Clone(o.Owners),
		func(ref metav1.OwnerReference) bool { return slices.Contains(drop, ref.UID) })
	return newPatch(o, "ownerReferences", orNull(kept))
}

// finalizersPatch removes a finalizer from o.
func finalizersPatch(o *Object, finalizer string) []byte {
	kept := slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool { return f == finalizer })
	return newPatch(o, "finalizers", orNull(kept))
}

// unblockPatch removes blockOwnerDeletion from all references of o. changed is false if none has
// it.
func unblockPatch(o *Object) (patch []byte, changed bool) {
	owners := slices.Clone(o.Owners)
	no := false
	for i, ref := range owners {
		if o.blocks(ref.UID) {
			owners[i].BlockOwnerDeletion, changed = &no, true
		}
	}
	return newPatch(o, "ownerReferences", owners), changed
}

func orNull[T any](list []T) any {
	if len(list) == 0 {
		return nil
	}
	return list
}
