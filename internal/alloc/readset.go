package alloc

import (
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	resourcev1 "k8s.io/api/resource/v1"
)

// readSet is the set of device fields that an expression can read, in addition to driver and
// allowMultipleAllocations.
type readSet struct {
	all        bool
	attributes []field
	capacity   []field
}

// DeviceField is a field of devices that an expression reads.
type DeviceField struct {
	// Kind is "attribute", "capacity", or "driver"; a driver has no domain and no name.
	Kind         string
	Domain, Name string
}

// Reads returns the fields that an expression reads, each once, in the order of the expression. It
// returns false if they cannot be determined from its syntax.
func (a *Allocator) Reads(expression string) (fields []DeviceField, known bool) {
	p := a.matcher.program(expression)
	if p.compiled.Error != nil || p.reads.all {
		return nil, false
	}
	add := func(field DeviceField) {
		if !slices.Contains(fields, field) {
			fields = append(fields, field)
		}
	}
	if strings.Contains(expression, "device.driver") {
		add(DeviceField{Kind: "driver"})
	}
	for i := range p.reads.attributes {
		add(
			DeviceField{
				Kind:   "attribute",
				Domain: p.reads.attributes[i].domain,
				Name:   string(p.reads.attributes[i].qualified[1]),
			},
		)
	}
	for i := range p.reads.capacity {
		add(DeviceField{Kind: "capacity", Domain: p.reads.capacity[i].domain, Name: string(p.reads.capacity[i].qualified[1])})
	}
	return fields, true
}

// field is an attribute or a capacity.
type field struct {
	domain string
	// name with the domain, and without it, as the driver of the domain may publish it
	qualified [2]resourcev1.QualifiedName
}

// readsOf determines the fields that an expression reads from its syntax:
// device.attributes["domain"].id, device.attributes["domain"]["id"], "id" in
// device.attributes["domain"], and the same for capacity. For any other use of the device, all
// fields count as read.
func readsOf(environment *cel.Env, expression string) readSet {
	parsed, issues := environment.Parse(expression)
	if issues.Err() != nil {
		return readSet{all: true}
	}
	var r readSet
	for _, device := range ast.MatchDescendants(ast.NavigateAST(parsed.NativeRep()), isDevice) {
		r.add(pathFrom(device))
	}
	if r.all {
		return readSet{all: true}
	}
	return r
}

func isDevice(e ast.NavigableExpr) bool {
	return e.Kind() == ast.IdentKind && strings.TrimPrefix(e.AsIdent(), ".") == "device"
}

func (r *readSet) add(path []string) {
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

// pathFrom returns the constant field selections that follow the expression.
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

// selected returns the field that the parent expression selects from, or tests in, the child.
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
