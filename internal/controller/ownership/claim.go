package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Claim sorts objects by what their controller has to do with them.
type Claim[T metav1.Object] struct {
	Owned   []T // carry the controller reference and match
	Adopt   []T // match and have no controller: the reference is to be added
	Release []T // carry the reference but match no longer: it is to be removed
}

// Sort compares objects of the controller's namespace with its selector. Objects
// of other controllers, orphans that do not match, and orphans that are being
// deleted are in no part of the result.
func Sort[T metav1.Object](controller metav1.Object, selector labels.Selector, objects []T) Claim[T] {
	var claim Claim[T]
	deleting := controller.GetDeletionTimestamp() != nil
	for _, obj := range objects {
		ref := metav1.GetControllerOfNoCopy(obj)
		matches := selector.Matches(labels.Set(obj.GetLabels()))
		switch {
		case ref != nil && ref.UID != controller.GetUID():
		case ref != nil && matches:
			claim.Owned = append(claim.Owned, obj)
		case ref != nil && !deleting:
			claim.Release = append(claim.Release, obj)
		case ref == nil && matches && !deleting && obj.GetDeletionTimestamp() == nil:
			claim.Adopt = append(claim.Adopt, obj)
		}
	}
	return claim
}
