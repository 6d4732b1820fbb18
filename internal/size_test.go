package internal_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A type of the core or the scheduler with more methods or fields than this has more than one
// purpose.
const (
	maxMethods = 30
	maxFields  = 15
)

// corePackages are the packages whose types are limited, with all packages below them.
var corePackages = []string{"model", "alloc", "sched", "claims", "groups", "commit", "scheduler"}

// largeTypes are the types that are larger than the limits, with the reason. A type that is within
// the limits must not be listed.
var largeTypes = map[string]string{
	"alloc.Reason": "one field for each check that refuses devices",
	"model.Pod":    "one field for each property of a pod that placement reads",
}

// typeSize is the number of methods and fields of a type. An embedded type is one field.
type typeSize struct{ methods, fields int }

func (s typeSize) isLarge() bool { return s.methods > maxMethods || s.fields > maxFields }

func TestSizeOfCoreTypes(t *testing.T) {
	sizes := map[string]*typeSize{}
	for _, pkg := range corePackages {
		addTypeSizes(t, pkg, sizes)
	}
	if len(sizes) < 100 {
		t.Fatalf("only %d types were found", len(sizes))
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		size := sizes[name]
		switch _, listed := largeTypes[name]; {
		case size.isLarge() && !listed:
			t.Errorf("%s has %d methods and %d fields, more than %d or %d",
				name, size.methods, size.fields, maxMethods, maxFields)
		case !size.isLarge() && listed:
			t.Errorf("%s is within the limits: remove it from the list", name)
		}
	}
	for name := range largeTypes {
		if sizes[name] == nil {
			t.Errorf("%s is listed and does not exist", name)
		}
	}
}

func TestSizeOfTypesIsCounted(t *testing.T) {
	const source = `package p
type a struct { b, c int; *d }
func (a) m() {}
func (x *a) n() {}
type g[T any] struct { t T }
func (g[T]) m() {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, 0)
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]*typeSize{}
	countFile("p", file, sizes)
	if have, want := fmt.Sprint(*sizes["p.a"], *sizes["p.g"]), "{2 3} {1 1}"; have != want {
		t.Errorf("have %s, want %s", have, want)
	}
}

// addTypeSizes adds the sizes of the types of a package and of all packages below it.
func addTypeSizes(t *testing.T, pkg string, sizes map[string]*typeSize) {
	t.Helper()
	err := filepath.WalkDir(pkg, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err == nil {
			countFile(filepath.ToSlash(filepath.Dir(name)), file, sizes)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func countFile(pkg string, file *ast.File, sizes map[string]*typeSize) {
	size := func(name string) *typeSize {
		name = pkg + "." + name
		if sizes[name] == nil {
			sizes[name] = &typeSize{}
		}
		return sizes[name]
	}
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && f.Recv != nil {
			size(receiverName(f.Recv.List[0].Type)).methods++
		}
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.TYPE {
			continue
		}
		for _, spec := range d.Specs {
			spec := spec.(*ast.TypeSpec)
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, field := range s.Fields.List {
					size(spec.Name.Name).fields += max(1, len(field.Names))
				}
			}
		}
	}
}

// receiverName returns the name of the type of a receiver, which may be a pointer or generic.
func receiverName(expr ast.Expr) string {
	switch e := expr.(type) {
	case *ast.StarExpr:
		return receiverName(e.X)
	case *ast.IndexExpr:
		return receiverName(e.X)
	case *ast.IndexListExpr:
		return receiverName(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}
