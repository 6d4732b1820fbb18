package openapi

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"time"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// setType sets the schema of a Go type: type and format, items, values, or a reference to the
// definition of a struct.
func (d *definer) setType(s *spec.Schema, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Struct:
		if t == reflect.TypeFor[time.Time]() {
			s.Typed("string", "date-time")
			return nil
		}
		return d.setRef(s, t)
	case reflect.Map:
		if t.Key().Kind() != reflect.String {
			return fmt.Errorf("openapi: %s has keys that are not strings", t)
		}
		s.Type = spec.StringOrArray{"object"}
		values := &spec.Schema{}
		s.AdditionalProperties = &spec.SchemaOrBool{Allows: true, Schema: values}
		return d.setType(values, t.Elem())
	case reflect.Slice, reflect.Array:
		if t.Elem().Kind() == reflect.Uint8 {
			s.Typed("string", "byte")
			return nil
		}
		s.Type = spec.StringOrArray{"array"}
		items := &spec.Schema{}
		s.Items = &spec.SchemaOrArray{Schema: items}
		return d.setType(items, t.Elem())
	case reflect.Interface:
		if t.NumMethod() == 0 {
			s.Type = spec.StringOrArray{"object"}
		}
		return nil // other interfaces have no known schema
	default:
		name, format := common.OpenAPITypeFormat(t.Kind().String())
		if name == "" {
			return fmt.Errorf("openapi: no schema for %s", t)
		}
		s.Typed(name, format)
		s.Enum = slices.Clone(d.table.enum(t))
		return nil
	}
}

func (d *definer) setRef(s *spec.Schema, t reflect.Type) error {
	model := modelName(t)
	s.Ref = d.ref(model)
	d.references[model] = true
	return d.add(t)
}

// defaultOf returns the default of a field that follows from its type: the zero value for a field
// that is always present, and an empty struct for an absent one.
func defaultOf(t reflect.Type, omitEmpty bool) any {
	switch t.Kind() {
	case reflect.Struct:
		switch {
		case reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()):
			return nil // its zero value is null
		case t.NumField() == 1 && t.Field(0).Anonymous:
			return defaultOf(t.Field(0).Type, omitEmpty)
		}
		return map[string]any{}
	case reflect.Pointer, reflect.Map, reflect.Slice, reflect.Array, reflect.Interface:
		return nil
	}
	if omitEmpty {
		return nil
	}
	switch t.Kind() {
	case reflect.String:
		return ""
	case reflect.Bool:
		return false
	default:
		return 0
	}
}

// formatted is a type with a custom JSON format, such as Time and Quantity.
type formatted interface {
	OpenAPISchemaType() []string
	OpenAPISchemaFormat() string
}

// oneOfTyped is a formatted type with several JSON types, which only OpenAPI v3 can describe.
type oneOfTyped interface {
	OpenAPIV3OneOfTypes() []string
}

// formattedDefinition returns the definition of a formatted type, and false for any other.
func formattedDefinition(t reflect.Type, description string) (common.OpenAPIDefinition, bool) {
	zero := reflect.Zero(t).Interface()
	f, ok := zero.(formatted)
	if !ok {
		return common.OpenAPIDefinition{}, false
	}
	v2 := common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{
		Description: description, Type: f.OpenAPISchemaType(), Format: f.OpenAPISchemaFormat(),
	}}}
	o, ok := zero.(oneOfTyped)
	if !ok {
		return v2, true
	}
	v3 := common.OpenAPIDefinition{Schema: spec.Schema{SchemaProps: spec.SchemaProps{
		Description: description, OneOf: common.GenerateOpenAPIV3OneOfSchema(o.OpenAPIV3OneOfTypes()),
		Format: f.OpenAPISchemaFormat(),
	}}}
	return common.EmbedOpenAPIDefinitionIntoV2Extension(v3, v2), true
}
