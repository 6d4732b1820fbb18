package openapi

import (
	"maps"
	"reflect"
	"strings"
)

// texts has descriptions by model and JSON name. That of the model itself has the name "".
type texts map[string]map[string]string

// documented is an upstream type with descriptions.
type documented interface {
	SwaggerDoc() map[string]string
}

// docs returns the descriptions of a struct and its own fields. Those of a delta type come from its
// upstream type, and descriptions in this package take precedence.
func (d *definer) docs(t reflect.Type) map[string]string {
	all := map[string]string{}
	if u, ok := reflect.TypeAssert[documented](reflect.Zero(upstreamOf(t))); ok {
		maps.Copy(all, u.SwaggerDoc())
	}
	if ours(t) {
		maps.Copy(all, listTexts(t))
	}
	maps.Copy(all, d.texts[modelName(t)])
	return all
}

// upstreamOf returns the type that a delta type replaces, which is the result of its Upstream
// method, or the type itself. For a type of allot's without the method it returns an empty struct:
// a SwaggerDoc method would be promoted from an embedded type and describe that.
func upstreamOf(t reflect.Type) reflect.Type {
	if !ours(t) {
		return t
	}
	m, ok := reflect.PointerTo(t).MethodByName("Upstream")
	if !ok || m.Type.NumOut() != 1 {
		return reflect.TypeFor[struct{}]()
	}
	out := m.Type.Out(0)
	if out.Kind() == reflect.Pointer {
		out = out.Elem()
	}
	return out
}

// listTexts returns the descriptions of a list kind.
func listTexts(t reflect.Type) map[string]string {
	kind, ok := strings.CutSuffix(t.Name(), "List")
	if _, items := t.FieldByName("Items"); !ok || !items {
		return nil
	}
	return map[string]string{
		"":         t.Name() + " is a list of " + kind + " objects.",
		"metadata": "Standard list metadata, such as the resource version to watch from.",
		"items":    "The " + kind + " objects.",
	}
}
