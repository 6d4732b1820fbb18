package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
)

// comments has the doc comments of structs ("Type") and of their fields ("Type.jsonName").
type comments map[string]string

func commentsIn(dir string) (comments, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	all := comments{}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, fmt.Errorf("read comments: %w", err)
		}
		for _, decl := range file.Decls {
			if d, ok := decl.(*ast.GenDecl); ok && d.Tok == token.TYPE {
				all.addType(d)
			}
		}
	}
	return all, nil
}

func (c comments) addType(d *ast.GenDecl) {
	for _, s := range d.Specs {
		spec := s.(*ast.TypeSpec)
		structure, ok := spec.Type.(*ast.StructType)
		if !ok {
			continue
		}
		c[spec.Name.Name] = firstParagraph(d.Doc.Text())
		for _, field := range structure.Fields.List {
			if field.Tag == nil {
				continue
			}
			name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
			c[spec.Name.Name+"."+name] = firstParagraph(field.Doc.Text())
		}
	}
}

// firstParagraph returns the text before the first empty line, without line breaks.
func firstParagraph(text string) string {
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n\n")
	return strings.Join(strings.Fields(text), " ")
}
