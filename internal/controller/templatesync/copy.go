package templatesync

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Copy is the cached part of a ResourceClaimTemplate, whether or not it is a copy.
type Copy struct {
	// ObjectMeta has only identity, marks and deletion.
	metav1.ObjectMeta
	// OwnSpec reports whether this controller wrote the spec. As the spec is immutable, it then
	// matches the hash.
	OwnSpec bool
}

// NewCopy returns the part of an object's metadata that Decide reads.
func NewCopy(meta *metav1.ObjectMeta) *Copy {
	c := &Copy{ObjectMeta: metav1.ObjectMeta{
		Name: meta.Name, Namespace: meta.Namespace, UID: meta.UID, ResourceVersion: meta.ResourceVersion,
		DeletionTimestamp: meta.DeletionTimestamp,
		Labels:            withKeys(meta.Labels, Label),
		Annotations:       withKeys(meta.Annotations, UIDAnnotation, HashAnnotation),
	}}
	if owner := metav1.GetControllerOfNoCopy(meta); owner != nil {
		c.OwnerReferences = []metav1.OwnerReference{*owner}
	}
	c.OwnSpec = ownSpec(meta.ManagedFields)
	return c
}

func withKeys(all map[string]string, keys ...string) map[string]string {
	var kept map[string]string
	for _, key := range keys {
		if value, ok := all[key]; ok {
			if kept == nil {
				kept = map[string]string{}
			}
			kept[key] = value
		}
	}
	return kept
}

// ownSpec reports whether this controller wrote the spec. An object that was created from the
// manifest of a copy has all its marks, but another manager.
func ownSpec(entries []metav1.ManagedFieldsEntry) bool {
	for _, entry := range entries {
		if entry.Manager != FieldManager || entry.FieldsV1 == nil {
			continue
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && fields["f:spec"] != nil {
			return true
		}
	}
	return false
}
