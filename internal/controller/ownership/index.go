package ownership

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Index is the name of a cache index with the keys of Keys.
const Index = "controller"

// Keys gives the index key of obj: the UID of its controller, or OrphansOf its
// namespace.
func Keys[T metav1.Object](obj T) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return []string{string(owner.UID)}
	}
	return []string{OrphansOf(obj.GetNamespace())}
}

// OrphansOf is the index key of the objects of a namespace that no controller owns.
func OrphansOf(namespace string) string { return "orphans of " + namespace }
