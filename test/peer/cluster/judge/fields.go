package judge

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Path names a field of a kind by the JSON names of the fields that lead to it. A name ends in "[]"
// or "{}" where the path goes on in an element of a list or of a map.
type Path []string

func (p Path) String() string { return strings.Join(p, ".") }

// maxPath is the greatest length of a path.
const maxPath = 12

// Paths returns the paths of all fields of a type of the API.
func Paths(t reflect.Type) []Path {
	var out []Path
	appendPaths(&out, nil, t)
	return out
}

func appendPaths(out *[]Path, parent Path, t reflect.Type) {
	if len(parent) >= maxPath {
		return
	}
	for _, f := range structFields(t) {
		*out = append(*out, parent.child(f.name))
		elem, suffix := element(f.t)
		appendPaths(out, parent.child(f.name+suffix), elem)
	}
}

// child returns a path that shares no memory with the path of another child.
func (p Path) child(name string) Path { return append(slices.Clip(p), name) }

// structField is a field as JSON has it.
type structField struct {
	name string
	t    reflect.Type
}

// structFields returns the fields of a struct that is an object in JSON, with those of embedded
// structs.
func structFields(t reflect.Type) []structField {
	t = indirect(t)
	if t.Kind() != reflect.Struct || isScalar(t) {
		return nil
	}
	var out []structField
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case name == "" && f.Anonymous:
			out = append(out, structFields(f.Type)...)
		case name != "":
			out = append(out, structField{name, f.Type})
		}
	}
	return out
}

// element returns the type of the elements of a list or of a map, and the suffix of its name in a
// path. Any other type is its own element.
func element(t reflect.Type) (reflect.Type, string) {
	t = indirect(t)
	switch {
	case isScalar(t):
		return t, ""
	case t.Kind() == reflect.Slice:
		return t.Elem(), "[]"
	case t.Kind() == reflect.Map:
		return t.Elem(), "{}"
	}
	return t, ""
}

func indirect(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// scalarValues are values of types that are not in JSON what they are in Go, or that hold any JSON.
var scalarValues = map[reflect.Type][]any{
	reflect.TypeFor[metav1.Time]():          {"2026-01-02T11:00:00Z"},
	reflect.TypeFor[metav1.MicroTime]():     {"2026-01-02T11:00:00.000000Z"},
	reflect.TypeFor[resource.Quantity]():    {"1", "1Gi", "-1", "100m", "0"},
	reflect.TypeFor[intstr.IntOrString]():   {int64(1), "50%", "http", int64(-1)},
	reflect.TypeFor[runtime.RawExtension](): {map[string]any{"a": "b"}},
	reflect.TypeFor[metav1.FieldsV1]():      {map[string]any{}},
	reflect.TypeFor[json.RawMessage]():      {map[string]any{}},
	reflect.TypeFor[[]byte]():               {"YQ=="},
}

func isScalar(t reflect.Type) bool {
	_, ok := scalarValues[t]
	return ok
}

// Value returns a value of a type for a field: often one that a manifest has in a field of the same
// name.
func (m *Mutator) Value(name string, t reflect.Type, depth int) any {
	t = indirect(t)
	if known := m.values[name]; len(known) > 0 && m.rand.IntN(3) > 0 {
		return clone(m.pick(known))
	}
	if values := scalarValues[t]; len(values) > 0 {
		return clone(m.pick(values))
	}
	switch t.Kind() {
	case reflect.Struct:
		object := map[string]any{}
		for _, f := range structFields(t) {
			if depth < maxPath && m.rand.IntN(2+depth) == 0 {
				object[f.name] = m.Value(f.name, f.t, depth+1)
			}
		}
		return object
	case reflect.Slice:
		list := []any{m.Value(name, t.Elem(), depth)}
		if m.rand.IntN(3) == 0 {
			list = append(list, m.Value(name, t.Elem(), depth))
		}
		return list
	case reflect.Map:
		key, _ := m.pick([]any{"a", "example.com/a", "cpu", "memory", ""}).(string)
		return map[string]any{key: m.Value(name, t.Elem(), depth)}
	case reflect.Bool:
		return m.rand.IntN(2) == 0
	case reflect.String:
		return m.pick([]any{"a", "b", "", "example.com", "A_b", "a/b", "example.com/a", "10.0.0.1"})
	}
	return m.pick([]any{int64(0), int64(1), int64(-1), int64(2), int64(80), int64(70000)})
}

// Set sets a field of an object of a type, and makes what leads to the field. It reports whether
// the object could take it.
func (m *Mutator) Set(object map[string]any, t reflect.Type, path Path) bool {
	name := strings.TrimRight(path[0], "[]{}")
	i := slices.IndexFunc(structFields(t), func(f structField) bool { return f.name == name })
	fieldType := structFields(t)[i].t
	if len(path) == 1 {
		object[name] = m.Value(name, fieldType, 0)
		return true
	}
	elem, suffix := element(fieldType)
	next, ok := member(object, name, suffix)
	return ok && m.Set(next, elem, path[1:])
}

// member returns the object in a field, or in the first element of the list or map in it. What is
// not there is made.
func member(object map[string]any, name, suffix string) (map[string]any, bool) {
	empty := map[string]any{}
	var inner any
	switch suffix {
	case "[]":
		list, _ := object[name].([]any)
		if len(list) == 0 || list[0] == nil {
			list = []any{empty}
			object[name] = list
		}
		inner = list[0]
	case "{}":
		entries, _ := object[name].(map[string]any)
		if len(entries) == 0 {
			entries = map[string]any{"a": empty}
			object[name] = entries
		}
		inner = entries[slices.Sorted(maps.Keys(entries))[0]]
	default:
		if object[name] == nil {
			object[name] = empty
		}
		inner = object[name]
	}
	out, ok := inner.(map[string]any)
	return out, ok
}
