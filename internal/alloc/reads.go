package alloc

import (
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	resourcev1 "k8s.io/api/resource/v1"
)

// reads are the parts of a device that an expression can read, beside its driver and whether it can be shared.
type reads struct {
	all        bool
	attributes []field
	capacity   []field
}

// field is an attribute or a capacity.
type field struct {
	domain string
	both   [2]resourcev1.QualifiedName // its name with the domain, and without, as the domain's driver may write it
}

// readsOf finds out what is read from the syntax: device.attributes["domain"].id, device.attributes["domain"]["id"],
// "id" in device.attributes["domain"], and the same of capacity. Whoever does anything else with the device may read all of it.
func readsOf(environment *cel.Env, expression string) reads {
	parsed, issues := environment.Parse(expression)
	if issues.Err() != nil {
		return reads{all: true}
	}
	var r reads
	for _, device := range ast.MatchDescendants(ast.NavigateAST(parsed.NativeRep()), isDevice) {
		r.add(pathFrom(device))
	}
	if r.all {
		return reads{all: true}
	}
	return r
}

func isDevice(e ast.NavigableExpr) bool {
	return e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == "device"
}

func (r *reads) add(path []string) {
	switch {
	case len(path) == 1 && (path[0] == "driver" || path[0] == "allowMultipleAllocations"):
	case len(path) >= 3 && path[0] == "attributes":
		r.attributes = append(r.attributes, newField(path[1], path[2]))
	case len(path) >= 3 && path[0] == "capacity":
		r.capacity = append(r.capacity, newField(path[1], path[2]))
	default:
		r.all = true
	}
}

// pathFrom follows constant selections outwards, as far as there are any.
func pathFrom(e ast.NavigableExpr) []string {
	var path []string
	for len(path) < 3 {
		parent, ok := e.Parent()
		if !ok {
			break
		}
		name, ok := selected(parent, e)
		if !ok {
			break
		}
		path, e = append(path, name), parent
	}
	return path
}

// selected is what the parent takes of the child, or looks for in it.
func selected(parent, child ast.NavigableExpr) (string, bool) {
	if parent.Kind() == ast.SelectKind {
		return parent.AsSelect().FieldName(), true
	}
	if parent.Kind() != ast.CallKind || len(parent.AsCall().Args()) != 2 {
		return "", false
	}
	from, key := parent.AsCall().Args()[0], parent.AsCall().Args()[1]
	switch parent.AsCall().FunctionName() {
	case operators.In:
		from, key = key, from
	case operators.Index:
	default:
		return "", false
	}
	if from.ID() != child.ID() || key.Kind() != ast.LiteralKind {
		return "", false
	}
	name, ok := key.AsLiteral().(types.String)
	return string(name), ok
}
