package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/allot-dev/allot/api/openapi"
)

const (
	models   = "github.com/allot-dev/allot/api/allot/v1alpha1."
	quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
	raw      = "io.k8s.apimachinery.pkg.runtime.RawExtension"
	metadata = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
)

// schemaOf returns the structural schema of a kind.
func schemaOf(k kind, texts comments) (*apiextensionsv1.JSONSchemaProps, error) {
	builder, err := openapi.NewBuilder(k.object)
	if err != nil {
		return nil, err
	}
	definitions, err := builder.Build(spec.MustCreateRef)
	if err != nil {
		return nil, err
	}
	f := flattener{definitions: definitions, comments: texts, limits: k.limits, without: k.without}
	root := models + reflect.TypeOf(k.object).Name()
	if named, ok := k.object.(interface{ OpenAPIModelName() string }); ok {
		root = named.OpenAPIModelName()
	}
	schema, err := f.model(root)
	if err != nil {
		return nil, err
	}
	if unused := slices.Sorted(maps.Keys(f.limits)); len(unused) > 0 {
		return nil, fmt.Errorf("limits of properties that are not in the schema: %s", strings.Join(unused, ", "))
	}
	return schema, nil
}

// flattener resolves the references of definitions.
type flattener struct {
	definitions map[string]common.OpenAPIDefinition
	comments    comments
	limits      map[string]limit // used limits are removed
	used        map[string]limit
	without     []string // properties to omit
}

func (f *flattener) limit(key string) limit {
	if f.used == nil {
		f.used = map[string]limit{}
	}
	if l, ok := f.limits[key]; ok {
		f.used[key] = l
		delete(f.limits, key)
	}
	return f.used[key]
}

// model returns the schema of a definition.
func (f *flattener) model(name string) (*apiextensionsv1.JSONSchemaProps, error) {
	switch name {
	case quantity:
		return &apiextensionsv1.JSONSchemaProps{
			XIntOrString: true,
			AnyOf:        []apiextensionsv1.JSONSchemaProps{{Type: "integer"}, {Type: "string"}},
		}, nil
	case raw:
		return &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: new(true)}, nil
	case metadata: // the server adds its schema, and does not accept another one
		return &apiextensionsv1.JSONSchemaProps{Type: "object"}, nil
	}
	definition, ok := f.definitions[name]
	if !ok {
		return nil, fmt.Errorf("no definition of %s", name)
	}
	out, err := f.schema(definition.Schema)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	own, ours := strings.CutPrefix(name, models)
	if ours {
		out.Description = f.comments[own]
	}
	for _, property := range slices.Sorted(maps.Keys(definition.Schema.Properties)) {
		if slices.Contains(f.without, name+"."+property) {
			continue
		}
		p, err := f.schema(definition.Schema.Properties[property])
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %w", name, property, err)
		}
		if ours {
			p.Description = f.comments[own+"."+property]
		}
		f.limit(name + "." + property).apply(p)
		if out.Properties == nil {
			out.Properties = map[string]apiextensionsv1.JSONSchemaProps{}
		}
		out.Properties[property] = *p
	}
	f.limit(name).apply(out)
	return out, nil
}

// schema returns the schema without properties and defaults: the server that gets the copies sets
// the defaults.
func (f *flattener) schema(s spec.Schema) (*apiextensionsv1.JSONSchemaProps, error) {
	if model := s.Ref.String(); model != "" {
		out, err := f.model(model)
		if err == nil && s.Description != "" && model != metadata {
			out.Description = firstParagraph(s.Description)
		}
		return out, err
	}
	out := &apiextensionsv1.JSONSchemaProps{
		Description: firstParagraph(s.Description),
		Format:      s.Format,
		Required:    slices.Clone(s.Required),
	}
	if len(s.Type) > 0 {
		out.Type = s.Type[0]
	}
	for _, value := range s.Enum {
		text, err := json.Marshal(value)
		if err != nil {
			return nil, err
		}
		out.Enum = append(out.Enum, apiextensionsv1.JSON{Raw: text})
	}
	f.extensions(out, s)
	if s.Items != nil {
		items, err := f.schema(*s.Items.Schema)
		if err != nil {
			return nil, err
		}
		out.Items = &apiextensionsv1.JSONSchemaPropsOrArray{Schema: items}
	}
	if s.AdditionalProperties != nil {
		values, err := f.schema(*s.AdditionalProperties.Schema)
		if err != nil {
			return nil, err
		}
		out.AdditionalProperties = &apiextensionsv1.JSONSchemaPropsOrBool{Allows: true, Schema: values}
	}
	return out, nil
}

// extensions copies the extensions that describe how lists and maps are merged.
func (f *flattener) extensions(out *apiextensionsv1.JSONSchemaProps, s spec.Schema) {
	if kind, ok := s.Extensions.GetString("x-kubernetes-list-type"); ok {
		out.XListType = &kind
	}
	if keys, ok := s.Extensions["x-kubernetes-list-map-keys"].([]any); ok {
		for _, key := range keys {
			out.XListMapKeys = append(out.XListMapKeys, fmt.Sprint(key))
		}
	}
	if kind, ok := s.Extensions.GetString("x-kubernetes-map-type"); ok {
		out.XMapType = &kind
	}
}
