package main

import (
	"go/ast"
	"reflect"
	"strings"

	"golang.org/x/tools/go/packages"
)

// markers has the lines of a comment that start with a plus: names and values, in order.
type markers map[string][]string

func markersOf(doc *ast.CommentGroup) markers {
	m := markers{}
	if doc == nil {
		return m
	}
	for _, c := range doc.List {
		line, ok := strings.CutPrefix(strings.TrimSpace(strings.TrimPrefix(c.Text, "//")), "+")
		if !ok {
			continue
		}
		name, value, _ := strings.Cut(line, "=")
		m[name] = append(m[name], value)
	}
	return m
}

// extensions returns the facts that both types and fields can have.
func (m markers) extensions() []string {
	var facts []string
	for _, e := range []struct{ marker, fact string }{
		{"listType", "list="}, {"listMapKey", "key="}, {"mapType", "map="}, {"structType", "struct="},
	} {
		for _, value := range m[e.marker] {
			facts = append(facts, e.fact+value)
		}
	}
	return facts
}

func (c *collector) typeFacts(p *packages.Package, m markers) []string {
	facts := m.extensions()
	if _, ok := m["union"]; ok {
		facts = append(facts, "union")
	}
	if len(m["default"]) > 0 {
		c.fail("%s: a type has a default, which the table does not support", p.PkgPath)
	}
	return facts
}

func (c *collector) fieldFacts(p *packages.Package, f *ast.Field) []string {
	m := markersOf(f.Doc)
	facts := m.extensions()
	for _, raw := range m["default"] {
		facts = append(facts, "default="+c.defaultOf(p, raw))
	}
	if _, ok := m["unionDiscriminator"]; ok {
		facts = append(facts, "discriminator")
	}
	if _, ok := m["unionDeprecated"]; ok {
		c.fail("%s: field %s is a member of a union by +unionDeprecated, which the table does not support", p.PkgPath,
			fieldName(f))
	}
	for _, value := range m["k8s:openapi-gen"] {
		if value != "true" {
			c.fail("%s: field %s has +k8s:openapi-gen=%s, which the table does not support", p.PkgPath, fieldName(f), value)
		}
	}
	return append(facts, presence(m, f)...)
}

// presence returns whether a field is required, if its JSON tag implies the opposite.
func presence(m markers, f *ast.Field) []string {
	omitEmpty := false
	if f.Tag != nil {
		_, options, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
		omitEmpty = strings.Contains(","+options+",", ",omitempty,")
	}
	_, required := m["required"]
	_, optional := m["optional"]
	switch {
	case required && omitEmpty:
		return []string{"required"}
	case !required && optional && !omitEmpty:
		return []string{"optional"}
	}
	return nil
}
