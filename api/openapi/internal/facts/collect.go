package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

const header = `# What upstream's comment markers say about its API types (Kubernetes 1.37). Written by internal/facts; do not edit.
#
# package PATH                  a package that was read; a type that is not listed below has no facts
# enum PATH.TYPE VALUE...       the values of a string type
# type MODEL FACT...            a struct, by the name of its OpenAPI model
# <tab>FIELD FACT...            a field of that struct, by its Go name
#
# list=, key=, map=, struct=    x-kubernetes-list-type, -list-map-keys, -map-type (of a map, of a struct)
# default=                      in JSON
# required, optional            where the JSON tag alone would say the opposite
# union, discriminator          a struct of which one field is set, and the field that says which
`

// collect reads packages and returns the table.
func collect(paths []string) ([]byte, error) {
	pkgs, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports |
			packages.NeedSyntax | packages.NeedTypes | packages.NeedTypesInfo,
	}, paths...)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(pkgs, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	c := &collector{pkgs: pkgs}
	c.out.WriteString(header)
	for _, p := range pkgs {
		for _, e := range p.Errors {
			err = errors.Join(err, e)
		}
		fmt.Fprintf(&c.out, "\npackage %s\n", p.PkgPath)
		c.addPackage(p)
	}
	return c.out.Bytes(), errors.Join(err, c.err)
}

type collector struct {
	pkgs []*packages.Package
	out  bytes.Buffer
	err  error
}

func (c *collector) fail(format string, args ...any) {
	c.err = errors.Join(c.err, fmt.Errorf(format, args...))
}

func (c *collector) addPackage(p *packages.Package) {
	models := modelNames(p)
	for _, t := range typesOf(p) {
		if _, ok := t.markers["enum"]; ok {
			c.addEnum(p, t.spec.Name.Name)
		}
		s, ok := t.spec.Type.(*ast.StructType)
		if ok && models[t.spec.Name.Name] != "" {
			c.addStruct(p, models[t.spec.Name.Name], t.markers, s)
		}
	}
}

// declared is a type declaration with the markers above it.
type declared struct {
	spec    *ast.TypeSpec
	markers markers
}

// typesOf returns the type declarations of a package by name, so that the table does not depend on
// files.
func typesOf(p *packages.Package) []declared {
	var all []declared
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, s := range gen.Specs {
				spec, ok := s.(*ast.TypeSpec)
				if !ok {
					continue
				}
				doc := spec.Doc
				if doc == nil {
					doc = gen.Doc
				}
				all = append(all, declared{spec, markersOf(doc)})
			}
		}
	}
	slices.SortFunc(all, func(a, b declared) int { return strings.Compare(a.spec.Name.Name, b.spec.Name.Name) })
	return all
}

// modelNames returns the OpenAPI model names of a package's types, as returned by their
// OpenAPIModelName methods.
func modelNames(p *packages.Package) map[string]string {
	names := map[string]string{}
	for _, file := range p.Syntax {
		for _, d := range file.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Name.Name != "OpenAPIModelName" || f.Recv == nil || len(f.Body.List) != 1 {
				continue
			}
			receiver, ok := f.Recv.List[0].Type.(*ast.Ident)
			ret, isReturn := f.Body.List[0].(*ast.ReturnStmt)
			if !ok || !isReturn {
				continue
			}
			if value := p.TypesInfo.Types[ret.Results[0]].Value; value != nil {
				names[receiver.Name] = constant.StringVal(value)
			}
		}
	}
	return names
}

// addEnum writes the values of a string type: all constants of that type in all packages read.
func (c *collector) addEnum(p *packages.Package, name string) {
	t := p.Types.Scope().Lookup(name).Type()
	if basic, ok := t.Underlying().(*types.Basic); !ok || basic.Kind() != types.String {
		return
	}
	var values []string
	for _, other := range c.pkgs {
		scope := other.Types.Scope()
		for _, n := range scope.Names() {
			if k, ok := scope.Lookup(n).(*types.Const); ok && types.TypeString(k.Type(), nil) == types.TypeString(t, nil) {
				values = append(values, strconv.Quote(constant.StringVal(k.Val())))
			}
		}
	}
	slices.Sort(values)
	fmt.Fprintf(&c.out, "enum %s.%s %s\n", p.PkgPath, name, strings.Join(slices.Compact(values), " "))
}

func (c *collector) addStruct(p *packages.Package, model string, m markers, s *ast.StructType) {
	own := c.typeFacts(p, m)
	var fields []string
	for _, f := range s.Fields.List {
		facts := c.fieldFacts(p, f)
		if len(facts) > 0 {
			fields = append(fields, fmt.Sprintf("\t%s %s\n", fieldName(f), strings.Join(facts, " ")))
		}
	}
	if len(own)+len(fields) > 0 {
		fmt.Fprintf(&c.out, "%s\n%s", strings.Join(append([]string{"type", model}, own...), " "), strings.Join(fields, ""))
	}
}

// defaultOf returns the JSON of a default marker, which may refer to a constant: ref(Name).
func (c *collector) defaultOf(p *packages.Package, raw string) string {
	if name, ok := strings.CutPrefix(raw, "ref("); ok {
		k, ok := p.Types.Scope().Lookup(strings.TrimSuffix(name, ")")).(*types.Const)
		if !ok {
			c.fail("%s: default %s is not a constant of the package", p.PkgPath, raw)
			return ""
		}
		raw = k.Val().ExactString()
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(raw)); err != nil || strings.ContainsAny(compact.String(), " \t") {
		c.fail("%s: default %s is not JSON without spaces", p.PkgPath, raw)
	}
	return compact.String()
}

func fieldName(f *ast.Field) string {
	if len(f.Names) > 0 {
		return f.Names[0].Name
	}
	switch t := f.Type.(type) {
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.StarExpr:
		return fieldName(&ast.Field{Type: t.X})
	case *ast.Ident:
		return t.Name
	}
	return ""
}
