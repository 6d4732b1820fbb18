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

var quantityType = reflect.TypeFor[resource.Quantity]()

// IsTooLarge reports whether a quantity has more than about a thousand digits before the decimal
// point.
func IsTooLarge(q resource.Quantity) bool {
	own := q.DeepCopy() // AsDec changes the quantity
	dec := own.AsDec()
	return -int64(dec.Scale())+int64(dec.UnscaledBig().BitLen())/3 > maxDigits
}

// Finder finds quantities in objects of one type. It knows the fields below which there can be any,
// because every object that is written is searched, and most parts of it have none.
type Finder struct {
	// fields has the structs that can contain a quantity, with their fields that can.
	fields map[reflect.Type][]part
}

// part is a field of a struct.
type part struct {
	index int
	// name is the name in JSON; it is empty for a field that is embedded.
	name string
}

// NewFinder returns a Finder for objects of a type. The type is a struct or a pointer to one.
func NewFinder(t reflect.Type) *Finder {
	f := &Finder{fields: map[reflect.Type][]part{}}
	// A struct can contain itself. Then what is known of it grows until all of it is.
	for known := -1; known < f.size(); {
		known = f.size()
		f.learn(t, map[reflect.Type]bool{})
	}
	return f
}

func (f *Finder) size() int {
	n := 0
	for _, parts := range f.fields {
		n += len(parts)
	}
	return n
}

// learn records the fields of t that can contain a quantity, and reports whether t can, as far as
// that is known. It leaves out the structs that were seen.
func (f *Finder) learn(t reflect.Type, seen map[reflect.Type]bool) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return f.learn(t.Elem(), seen)
	case reflect.Interface:
		return true
	case reflect.Struct:
	default:
		return false
	}
	if t == quantityType {
		return true
	}
	if !seen[t] {
		seen[t] = true
		f.learnFields(t, seen)
	}
	return len(f.fields[t]) > 0
}

func (f *Finder) learnFields(t reflect.Type, seen map[reflect.Type]bool) {
	var parts []part
	for i := range t.NumField() {
		field := t.Field(i)
		if !field.IsExported() || !f.learn(field.Type, seen) {
			continue
		}
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" {
			name = ""
		}
		parts = append(parts, part{i, name})
	}
	if len(parts) > 0 {
		f.fields[t] = parts
	}
}

// TooLarge returns an error for each quantity in an object for which IsTooLarge is true.
func (f *Finder) TooLarge(obj any) field.ErrorList {
	w := walk{fields: f.fields}
	w.value(nil, reflect.ValueOf(obj))
	slices.SortFunc(w.errs, func(a, b *field.Error) int { return cmp.Compare(a.Field, b.Field) })
	return w.errs
}

type walk struct {
	fields map[reflect.Type][]part
	errs   field.ErrorList
}

func (w *walk) value(path *step, v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			w.value(path, v.Elem())
		}
	case reflect.Interface:
		if !v.IsNil() { // what it contains was not known before
			inner := walk{fields: NewFinder(v.Elem().Type()).fields}
			inner.value(path, v.Elem())
			w.errs = append(w.errs, inner.errs...)
		}
	case reflect.Struct:
		w.fieldsOf(path, v)
	case reflect.Slice:
		if w.canContain(v.Type().Elem()) {
			for i := range v.Len() {
				w.value(&step{above: path, index: i, kind: reflect.Slice}, v.Index(i))
			}
		}
	case reflect.Map:
		if w.canContain(v.Type().Elem()) {
			for entries := v.MapRange(); entries.Next(); {
				w.value(&step{above: path, key: entries.Key(), kind: reflect.Map}, entries.Value())
			}
		}
	}
}

func (w *walk) fieldsOf(path *step, v reflect.Value) {
	if v.Type() == quantityType {
		if q := v.Interface().(resource.Quantity); IsTooLarge(q) {
			w.errs = append(w.errs,
				field.Invalid(path.path(), q.String(), fmt.Sprintf("must have at most %d digits", maxDigits)))
		}
		return
	}
	for _, p := range w.fields[v.Type()] {
		below := path
		if p.name != "" {
			below = &step{above: path, name: p.name, kind: reflect.Struct}
		}
		w.value(below, v.Field(p.index))
	}
}

// canContain reports whether a value of a type can contain a quantity.
func (w *walk) canContain(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map:
		return w.canContain(t.Elem())
	case reflect.Interface:
		return true
	case reflect.Struct:
		return t == quantityType || len(w.fields[t]) > 0
	}
	return false
}

// step is the last element of the path to a value. A path is made only for an error.
type step struct {
	above *step
	kind  reflect.Kind // kind of the value that the step leads into
	name  string
	index int
	key   reflect.Value
}

func (s *step) path() *field.Path {
	if s == nil {
		return nil
	}
	above := s.above.path()
	switch s.kind {
	case reflect.Slice:
		return above.Index(s.index)
	case reflect.Map:
		return above.Key(fmt.Sprint(s.key))
	}
	return above.Child(s.name)
}
