package dynamicadmission

import (
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// AddConversions lets the plugins convert objects between the form in which requests are processed
// and the version that a webhook or a policy is for, where both are one Go type. The copies share
// what they point to: the plugins change a copy only as a whole.
func AddConversions(scheme *runtime.Scheme) error {
	for gvk, typ := range scheme.AllKnownTypes() {
		if gvk.Version != runtime.APIVersionInternal {
			continue
		}
		obj := reflect.New(typ).Interface()
		if err := scheme.AddConversionFunc(obj, obj, copyObject); err != nil {
			return fmt.Errorf("conversion of %s: %w", gvk.Kind, err)
		}
	}
	return nil
}

// copyObject copies all but the type, which an object of the server may lack.
func copyObject(in, out any, _ conversion.Scope) error {
	kind := out.(runtime.Object).GetObjectKind().GroupVersionKind()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(in).Elem())
	out.(runtime.Object).GetObjectKind().SetGroupVersionKind(kind)
	return nil
}
