package alloc

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// constraint is a constraint of a claim: all devices that it covers share a value of the attribute
// (matchAttribute), or no two do (distinctAttribute). A scalar attribute is treated as a list with
// one value.
type constraint struct {
	claim    int
	name     resourcev1.FullyQualifiedName
	distinct bool
	requests []string // empty means all requests
}

// covers reports whether the constraint applies to the devices of a request. name is the name in
// allocation results.
func (c *constraint) covers(request, name string) bool {
	return len(c.requests) == 0 || slices.Contains(c.requests, request) || slices.Contains(c.requests, name)
}

func (p *Problem) addConstraints(c int) {
	claim := p.claims[c]
	for i := range claim.Constraints {
		spec := &claim.Constraints[i]
		r := constraint{claim: c, requests: spec.Requests}
		switch {
		case spec.MatchAttribute != nil:
			r.name = *spec.MatchAttribute
		case spec.DistinctAttribute != nil:
			r.name, r.distinct = *spec.DistinctAttribute, true
		}
		p.constraints = append(p.constraints, r)
	}
}

// attributeValues returns the values of an attribute, which a device can publish under its full
// name or, for the driver's own domain, without the domain.
func attributeValues(device *model.Device, driver string, name resourcev1.FullyQualifiedName) []string {
	attribute, ok := device.Attributes[resourcev1.QualifiedName(name)]
	if !ok {
		domain, id, _ := strings.Cut(string(name), "/")
		if domain != driver {
			return nil
		}
		if attribute, ok = device.Attributes[resourcev1.QualifiedName(id)]; !ok {
			return nil
		}
	}
	return valuesIn(&attribute)
}

// valuesIn returns the distinct values of an attribute, each prefixed with its type: values of
// different types are never equal.
func valuesIn(a *resourcev1.DeviceAttribute) []string {
	var list []string
	switch {
	case a.IntValue != nil:
		list = typed("int", *a.IntValue)
	case a.BoolValue != nil:
		list = typed("bool", *a.BoolValue)
	case a.StringValue != nil:
		list = typed("string", *a.StringValue)
	case a.VersionValue != nil:
		list = typed("version", *a.VersionValue)
	case len(a.IntValues) > 0:
		list = typed("int", a.IntValues...)
	case len(a.BoolValues) > 0:
		list = typed("bool", a.BoolValues...)
	case len(a.StringValues) > 0:
		list = typed("string", a.StringValues...)
	default:
		list = typed("version", a.VersionValues...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func typed[T any](kind string, values ...T) []string {
	var list []string
	for _, value := range values {
		list = append(list, fmt.Sprintf("%s %v", kind, value))
	}
	return list
}
