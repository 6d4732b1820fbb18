package ownership

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Index is the name of a cache index with the keys of Keys.
const Index = "controller"

// Keys returns the index key of an object: the UID of its controller, or OrphansOf its namespace.
func Keys[T metav1.Object](obj T) []string {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil {
		return []string{string(owner.UID)}
	}
	return []string{OrphansOf(obj.GetNamespace())}
}

// OrphansOf returns the index key of the objects in a namespace that have no controller.
func OrphansOf(namespace string) string { return "orphans of " + namespace }
