package openapi

import (
	"maps"
	"reflect"
	"strings"
)

// texts are descriptions by model and JSON name. That of the model itself has the name "".
type texts map[string]map[string]string

// documented is how upstream's types bring their descriptions along.
type documented interface {
	SwaggerDoc() map[string]string
}

// docs returns the descriptions of a struct and its own fields. Those of ours come from the upstream type that they
// stand for, and what is written here goes before what upstream says.
func (d *definer) docs(t reflect.Type) map[string]string {
	all := map[string]string{}
	if u, ok := reflect.Zero(upstreamOf(t)).Interface().(documented); ok {
		maps.Copy(all, u.SwaggerDoc())
	}
	if ours(t) {
		maps.Copy(all, listTexts(t))
	}
	maps.Copy(all, d.texts[modelName(t)])
	return all
}

// upstreamOf returns the type that a delta type stands for, which its Upstream method tells, or the type itself. For
// one of ours without the method it is an empty struct: a SwaggerDoc method would be promoted from an embedded type
// and speak of that.
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

// listTexts are the descriptions of a list kind, which are all alike.
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
