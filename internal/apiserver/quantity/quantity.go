// Package quantity finds quantities whose exponents make them extremely large. They are short, such
// as 1e2000000000, but comparing or rounding one computes that power of ten, which takes unlimited
// time and memory.
package quantity

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxDigits is far beyond any real quantity, and small enough for computations.
const maxDigits = 1000

// IsTooLarge reports whether a quantity has more than about a thousand digits before the decimal
// point.
func IsTooLarge(q resource.Quantity) bool {
	own := q.DeepCopy() // AsDec changes the quantity
	dec := own.AsDec()
	return -int64(dec.Scale())+int64(dec.UnscaledBig().BitLen())/3 > maxDigits
}

// TooLarge returns an error for each quantity in an object for which IsTooLarge is true.
func TooLarge(obj any) field.ErrorList {
	var w walk
	w.value(nil, reflect.ValueOf(obj))
	slices.SortFunc(w.errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return w.errs
}

type walk struct{ errs field.ErrorList }

func (w *walk) value(path *field.Path, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			w.value(path, v.Elem())
		}
	case reflect.Struct:
		w.fields(path, v)
	case reflect.Slice:
		if !isPlain(v.Type().Elem()) {
			for i := range v.Len() {
				w.value(path.Index(i), v.Index(i))
			}
		}
	case reflect.Map:
		if !isPlain(v.Type().Elem()) {
			for entries := v.MapRange(); entries.Next(); {
				w.value(path.Key(fmt.Sprint(entries.Key())), entries.Value())
			}
		}
	}
}

func (w *walk) fields(path *field.Path, v reflect.Value) {
	if v.Type() == reflect.TypeFor[resource.Quantity]() {
		if q := v.Interface().(resource.Quantity); IsTooLarge(q) {
			w.errs = append(w.errs, field.Invalid(path, q.String(), fmt.Sprintf("must have at most %d digits", maxDigits)))
		}
		return
	}
	for i := range v.NumField() {
		f := v.Type().Field(i)
		if !f.IsExported() || isPlain(f.Type) {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" { // a field of the struct itself
			w.value(path, v.Field(i))
			continue
		}
		w.value(path.Child(name), v.Field(i))
	}
}

// isPlain reports whether a type cannot contain a quantity.
func isPlain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Interface, reflect.Struct, reflect.Slice, reflect.Map:
		return false
	}
	return true
}
