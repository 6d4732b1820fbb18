package ownership

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

type metadataPatch struct {
	Metadata metadata `json:"metadata"`
}

type metadata struct {
	// UID makes the patch fail if the object was recreated.
	UID             types.UID `json:"uid"`
	OwnerReferences []any     `json:"ownerReferences"`
	Finalizers      []string  `json:"finalizers,omitempty"`
}

type deletedReference struct {
	Patch string    `json:"$patch"`
	UID   types.UID `json:"uid"`
}

// AdoptPatch returns a strategic merge patch that makes controller, of the given kind, the
// controller of obj, and adds finalizers to those of obj.
func AdoptPatch(
	controller metav1.Object, kind schema.GroupVersionKind, obj metav1.Object, finalizers ...string,
) ([]byte, error) {
	ref := metav1.NewControllerRef(controller, kind)
	return json.Marshal(metadataPatch{metadata{UID: obj.GetUID(), OwnerReferences: []any{ref}, Finalizers: finalizers}})
}

// ReleasePatch returns a strategic merge patch that removes all references from obj to controller.
// Other owners stay.
func ReleasePatch(controller, obj metav1.Object) ([]byte, error) {
	gone := deletedReference{Patch: "delete", UID: controller.GetUID()}
	return json.Marshal(metadataPatch{metadata{UID: obj.GetUID(), OwnerReferences: []any{gone}}})
}
