package openapi

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"k8s.io/kube-openapi/pkg/common"
	"k8s.io/kube-openapi/pkg/util"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// Builder creates the definitions of kinds and of all structs that they use.
type Builder struct {
	roots []reflect.Type
	table *table
	texts texts
}

// NewBuilder returns a builder for kinds, given as values or pointers.
func NewBuilder(roots ...any) (*Builder, error) {
	t, err := parseTable(upstreamFacts, ownFacts)
	if err != nil {
		return nil, err
	}
	b := &Builder{table: t, texts: ownTexts()}
	for _, root := range roots {
		t := reflect.TypeOf(root)
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return nil, fmt.Errorf("openapi: %T is not a struct", root)
		}
		b.roots = append(b.roots, t)
	}
	return b, nil
}

// Build returns the definitions by model name. It fails if a type cannot be described, if two types
// of allot's, or two of upstream's, have one model name, or if a struct has two fields with one
// JSON name.
func (b *Builder) Build(ref common.ReferenceCallback) (map[string]common.OpenAPIDefinition, error) {
	d := &definer{
		Builder:     b,
		ref:         ref,
		types:       map[string]reflect.Type{},
		definitions: map[string]common.OpenAPIDefinition{},
	}
	for _, root := range b.roots {
		if err := d.add(root); err != nil {
			return nil, err
		}
	}
	for len(d.queue) > 0 {
		t := d.queue[0]
		d.queue = d.queue[1:]
		if err := d.define(t); err != nil {
			return nil, err
		}
	}
	return d.definitions, nil
}

// definer is one run of a builder.
type definer struct {
	*Builder
	ref         common.ReferenceCallback
	queue       []reflect.Type          // seen and not yet defined
	types       map[string]reflect.Type // model -> the type that is described by it
	definitions map[string]common.OpenAPIDefinition
	references  map[string]bool // models to which the current struct refers
}

// add queues a struct. Of two types with one model name allot's is described: it is upstream's with
// fields added.
func (d *definer) add(t reflect.Type) error {
	model := modelName(t)
	known, ok := d.types[model]
	switch {
	case ok && (known == t || ours(known) && !ours(t)):
		return nil
	case ok && ours(known) == ours(t):
		return fmt.Errorf("openapi: %s and %s both have the model name %s", known, t, model)
	case !ours(t) && strings.HasPrefix(t.PkgPath(), "k8s.io/") && !d.table.packages[t.PkgPath()]:
		return fmt.Errorf("openapi: %s is in a package that facts.txt does not cover", t)
	}
	d.types[model] = t
	d.queue = append(d.queue, t)
	return nil
}

func (d *definer) define(t reflect.Type) error {
	model := modelName(t)
	if d.types[model] != t {
		return nil // allot's type has replaced it
	}
	docs := d.docs(t)
	if definition, ok := formattedDefinition(t, docs[""]); ok {
		d.definitions[model] = definition
		return nil
	}
	s := spec.Schema{SchemaProps: spec.SchemaProps{Description: docs[""], Type: spec.StringOrArray{"object"}}}
	d.references = map[string]bool{}
	if err := d.addMembers(&s, t); err != nil {
		return fmt.Errorf("%s: %w", t, err)
	}
	addExtensions(&s, d.table.types[model])
	if unions := d.unions(t); len(unions) > 0 {
		s.AddExtension("x-kubernetes-unions", unions)
	}
	d.definitions[model] = common.OpenAPIDefinition{Schema: s, Dependencies: slices.Sorted(maps.Keys(d.references))}
	return nil
}

// modelName returns the name under which kube-openapi looks up the definition of a type.
func modelName(t reflect.Type) string {
	return util.GetCanonicalTypeName(reflect.Zero(t).Interface())
}

// modulePath is the module of the delta types.
var modulePath = strings.TrimSuffix(reflect.TypeFor[Builder]().PkgPath(), "api/openapi")

func ours(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), modulePath) }

// member is a field of a struct with its name in JSON.
type member struct {
	reflect.StructField
	json      string
	inline    bool // its members are members of the struct
	omitEmpty bool
	asString  bool // a number written in quotes
}

// membersOf returns the fields of a struct that are in its JSON.
func membersOf(t reflect.Type) []member {
	var all []member
	for f := range t.Fields() {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		m := member{
			StructField: f, json: name, inline: f.Anonymous && tagged && name == "",
			omitEmpty: slices.Contains(strings.Split(options, ","), "omitempty"),
			asString:  options == "string" || strings.HasPrefix(options, "string,"),
		}
		if !tagged {
			m.json = f.Name
		}
		if f.IsExported() && m.json != "-" && (m.json != "" || m.inline) {
			all = append(all, m)
		}
	}
	return all
}

// addMembers adds the properties of a struct, and of those inlined in it.
func (d *definer) addMembers(s *spec.Schema, t reflect.Type) error {
	docs := d.docs(t)
	for _, m := range membersOf(t) {
		if m.inline {
			if err := d.addMembers(s, m.Type); err != nil {
				return err
			}
			continue
		}
		if _, ok := s.Properties[m.json]; ok {
			return fmt.Errorf("openapi: %s is there twice", m.json)
		}
		f := d.table.fields[modelName(t)][m.Name]
		property, err := d.property(m, f)
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		property.Description = docs[m.json]
		s.SetProperty(m.json, property)
		if f.required || !f.optional && !m.omitEmpty {
			s.Required = append(s.Required, m.json)
		}
	}
	return nil
}

func (d *definer) property(m member, f facts) (spec.Schema, error) {
	s := spec.Schema{}
	addExtensions(&s, f)
	for tag, name := range map[string]string{
		"patchStrategy": "x-kubernetes-patch-strategy", "patchMergeKey": "x-kubernetes-patch-merge-key",
	} {
		if value := m.Tag.Get(tag); value != "" {
			s.AddExtension(name, value)
		}
	}
	if m.asString {
		s.Typed("string", "")
		return s, nil
	}
	s.Default = f.defaultValue()
	if s.Default == nil {
		s.Default = defaultOf(m.Type, m.omitEmpty)
	}
	return s, d.setType(&s, m.Type)
}

// addExtensions adds copies, because the receiver may modify the definitions.
func addExtensions(s *spec.Schema, f facts) {
	for name, value := range f.extensions {
		if list, ok := value.([]any); ok {
			value = slices.Clone(list)
		}
		s.AddExtension(name, value)
	}
}

// unions returns the unions of a struct and of those inlined in it: the fields that exclude each
// other, and the discriminator.
func (d *definer) unions(t reflect.Type) []any {
	var all []any
	if d.table.types[modelName(t)].union {
		u, fields := map[string]any{}, map[string]any{}
		for _, m := range membersOf(t) {
			if d.table.fields[modelName(t)][m.Name].discriminator {
				u["discriminator"] = m.json
			} else {
				fields[m.json] = m.Name
			}
		}
		u["fields-to-discriminateBy"] = fields
		all = append(all, u)
	}
	for _, m := range membersOf(t) {
		if m.inline && m.Type != reflect.TypeFor[time.Time]() {
			all = append(all, d.unions(m.Type)...)
		}
	}
	return all
}
