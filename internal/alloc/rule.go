package alloc

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// rule is a constraint of a claim: all devices that it covers have a value of the attribute in common, or no two have.
// An attribute that is one value counts as a list of one.
type rule struct {
	claim    int
	name     resourcev1.FullyQualifiedName
	distinct bool
	requests []string // empty: all
}

// covers says whether the devices of a request, by the name in results, are concerned.
func (r *rule) covers(request, name string) bool {
	return len(r.requests) == 0 || slices.Contains(r.requests, request) || slices.Contains(r.requests, name)
}

func (p *Problem) addRules(c int) {
	claim := p.claims[c]
	for i := range claim.Constraints {
		constraint := &claim.Constraints[i]
		r := rule{claim: c, requests: constraint.Requests}
		switch {
		case constraint.MatchAttribute != nil:
			r.name = *constraint.MatchAttribute
		case constraint.DistinctAttribute != nil:
			r.name, r.distinct = *constraint.DistinctAttribute, true
		}
		p.rules = append(p.rules, r)
	}
}

// attributeValues looks the attribute up by its full name, or without the domain if that is the driver's.
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

// valuesIn are the distinct values of an attribute, each with its type: no two types are equal.
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
