package registry

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddDefaults adds the defaulting functions of all kinds to a scheme. The clock stamps device
// taints with the time at which they were first seen.
func AddDefaults(scheme *runtime.Scheme, now func() time.Time) error {
	for _, e := range table(dependencies{now: now}) {
		if err := e.addDefaults(scheme); err != nil {
			return err
		}
	}
	return nil
}

// noDefaults is for kinds of which Kubernetes has no field that a client may leave out and the
// server fills in.
func noDefaults[P any](P) {}

// defaultFunc adds the defaults of one Go type to a scheme.
type defaultFunc func(scheme *runtime.Scheme) error

// defaultsOf defaults a type, and each item of its list type.
func defaultsOf[T any, P pointer[T]](list runtime.Object, set func(P)) defaultFunc {
	return func(scheme *runtime.Scheme) error {
		example := P(new(T))
		for _, obj := range []runtime.Object{example, list} {
			if _, _, err := scheme.ObjectKinds(obj); err != nil {
				return fmt.Errorf("defaults of %T: %w", obj, err)
			}
		}
		scheme.AddTypeDefaultingFunc(example, func(obj any) { set(obj.(P)) })
		scheme.AddTypeDefaultingFunc(list, func(list any) {
			_ = meta.EachListItem(list.(runtime.Object), func(item runtime.Object) error {
				set(item.(P))
				return nil
			})
		})
		return nil
	}
}

func (k *kind[T, P]) addDefaults(scheme *runtime.Scheme) error {
	for _, add := range append([]defaultFunc{defaultsOf(k.newList(), k.defaults)}, k.olderDefaults...) {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}
