// Package converters registers the conversions between the types of a served version and those of
// the stored version, the hub.
package converters

import (
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
)

// Func converts one type into another.
type Func[In, Out any] func(in *In, out *Out, scope conversion.Scope) error

// Pair registers the conversions of a type in both directions.
type Pair func(scheme *runtime.Scheme) error

// Between returns the Pair of a type and its hub.
func Between[T, Hub any](toHub Func[T, Hub], fromHub Func[Hub, T]) Pair {
	return func(scheme *runtime.Scheme) error {
		if err := scheme.AddConversionFunc((*T)(nil), (*Hub)(nil), untyped(toHub)); err != nil {
			return err
		}
		return scheme.AddConversionFunc((*Hub)(nil), (*T)(nil), untyped(fromHub))
	}
}

// Add registers pairs in a scheme.
func Add(scheme *runtime.Scheme, pairs ...Pair) error {
	for _, add := range pairs {
		if err := add(scheme); err != nil {
			return err
		}
	}
	return nil
}

// Unscoped returns a conversion that does not convert other types as a Func.
func Unscoped[In, Out any](convert func(*In, *Out) error) Func[In, Out] {
	return func(in *In, out *Out, _ conversion.Scope) error { return convert(in, out) }
}

// Items converts the items of a list. A nil list stays nil.
func Items[In, Out any](in []In, out *[]Out, convert Func[In, Out], scope conversion.Scope) error {
	if in == nil {
		return nil
	}
	*out = make([]Out, len(in))
	for i := range in {
		if err := convert(&in[i], &(*out)[i], scope); err != nil {
			return err
		}
	}
	return nil
}

func untyped[In, Out any](convert Func[In, Out]) conversion.ConversionFunc {
	return func(in, out any, scope conversion.Scope) error { return convert(in.(*In), out.(*Out), scope) }
}
