package ownership

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Object is a pointer to an API object.
type Object interface {
	comparable
	metav1.Object
}

// Watch enqueues the controllers of type C that events of objects concern.
type Watch[C, T Object] struct {
	Kind        schema.GroupVersionKind // kind of the controllers
	InNamespace func(namespace string) []C
	SelectorOf  func(C) *metav1.LabelSelector
	Ask         func(types.NamespacedName)
}

// OnChange handles a change in the cache of objects: before is nil for a new object, and after is
// nil for a deleted one.
func (w Watch[C, T]) OnChange(before, after T) {
	var none T
	if before != none {
		w.askOwner(before)
	}
	if after == none {
		return
	}
	w.askOwner(after)
	if metav1.GetControllerOfNoCopy(after) == nil && (before == none || !sameClaim(before, after)) {
		w.askAdopters(after)
	}
}

func (w Watch[C, T]) askOwner(obj T) {
	if owner := metav1.GetControllerOfNoCopy(obj); owner != nil && owner.Kind == w.Kind.Kind {
		w.Ask(types.NamespacedName{Namespace: obj.GetNamespace(), Name: owner.Name})
	}
}

// askAdopters enqueues the controllers whose selector matches an orphan.
func (w Watch[C, T]) askAdopters(orphan T) {
	for _, controller := range w.InNamespace(orphan.GetNamespace()) {
		selector, err := metav1.LabelSelectorAsSelector(w.SelectorOf(controller))
		if err == nil && selector.Matches(labels.Set(orphan.GetLabels())) {
			w.Ask(types.NamespacedName{Namespace: controller.GetNamespace(), Name: controller.GetName()})
		}
	}
}

// sameClaim reports whether labels and the presence of a controller, which decide about adoption,
// are unchanged.
func sameClaim(before, after metav1.Object) bool {
	return maps.Equal(before.GetLabels(), after.GetLabels()) &&
		(metav1.GetControllerOfNoCopy(before) == nil) == (metav1.GetControllerOfNoCopy(after) == nil)
}
