package ownership

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Claim is the objects that a controller owns, adopts and releases.
type Claim[T metav1.Object] struct {
	Owned   []T // have the controller reference and match
	Adopt   []T // match and have no controller
	Release []T // have the controller reference and do not match
}

// Sort compares objects in the controller's namespace with its selector. The result does not
// include objects of other controllers, orphans that do not match, and orphans that are being
// deleted.
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
