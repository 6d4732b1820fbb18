package templatesync

import (
	"crypto/sha256"
	"encoding/hex"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// FieldManager is the field manager of copies and statuses.
const FieldManager = "allot-template-sync"

// The marks of a copy, in addition to its owner reference.
const (
	// Label has the name of the original. A long name is cut and has a hash appended.
	Label = "allot.dev/template-sync"
	// UIDAnnotation has the UID of the original.
	UIDAnnotation = "allot.dev/template-sync-uid"
	// HashAnnotation has the hash of the content.
	HashAnnotation = "allot.dev/template-sync-hash"
)

// labelValue returns the value of Label. Names of originals are DNS subdomains, which are valid
// label values unless they are too long.
func labelValue(name string) string {
	if len(name) <= validation.LabelValueMaxLength {
		return name
	}
	sum := hashOf([]byte(name))[:16]
	return name[:validation.LabelValueMaxLength-len(sum)-1] + "-" + sum
}

func hashOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// owner returns the reference by which the garbage collector deletes the copies of a deleted
// original. It does not block the deletion of the original, which would need rights on its
// finalizers.
func (o *Original) owner() metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: allotv1alpha1.SchemeGroupVersion.String(), Kind: allotv1alpha1.KindClusterResourceClaimTemplate,
		Name: o.Name, UID: o.UID, Controller: ptr.To(true),
	}
}

// marks returns the metadata of a copy in a namespace.
func (o *Original) marks(namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.CopyName, Namespace: namespace,
		Labels:          map[string]string{Label: labelValue(o.Name)},
		Annotations:     map[string]string{UIDAnnotation: string(o.UID), HashAnnotation: o.Hash},
		OwnerReferences: []metav1.OwnerReference{o.owner()},
	}
}

// isMarkedBy reports whether a copy has all marks for the current content of o.
func (o *Original) isMarkedBy(c *Copy) bool {
	ref := metav1.GetControllerOfNoCopy(c)
	return c.Labels[Label] == labelValue(o.Name) && c.Annotations[UIDAnnotation] == string(o.UID) &&
		c.Annotations[HashAnnotation] == o.Hash &&
		ref != nil &&
		ref.UID == o.UID
}
