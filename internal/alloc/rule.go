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
	claim     int
	attribute int // index in Problem.attributes
	distinct  bool
	requests  []string // empty: all
}

// covers says whether the devices of a request, by the name in results, are concerned.
func (r *rule) covers(request, name string) bool {
	return len(r.requests) == 0 || slices.Contains(r.requests, request) || slices.Contains(r.requests, name)
}

func (p *Problem) addRules(c int) *Reason {
	claim := p.claims[c]
	for i := range claim.Constraints {
		constraint := &claim.Constraints[i]
		r := rule{claim: c, requests: constraint.Requests}
		switch {
		case constraint.MatchAttribute != nil:
			r.attribute = p.addAttribute(*constraint.MatchAttribute)
		case constraint.DistinctAttribute != nil:
			r.attribute, r.distinct = p.addAttribute(*constraint.DistinctAttribute), true
		default:
			reason := &Reason{Kind: Unsupported, Field: fmt.Sprintf("spec.devices.constraints[%d]", i)}
			for r := range claim.Requests {
				reason.Asked = append(reason.Asked, Asked{Claim: claim.Key, Request: claim.Requests[r].Name})
			}
			return reason
		}
		p.rules = append(p.rules, r)
	}
	return nil
}

func (p *Problem) addAttribute(name resourcev1.FullyQualifiedName) int {
	if at := slices.Index(p.attributes, name); at >= 0 {
		return at
	}
	p.attributes = append(p.attributes, name)
	return len(p.attributes) - 1
}

// valueSets are the values that the devices of a pool have of one attribute.
type valueSets struct {
	of   []int      // by device: index of its set
	sets [][]string // distinct; the first is empty. A value bears its type: no two types are equal
}

func valuesOf(pool *model.Pool, attribute resourcev1.FullyQualifiedName) *valueSets {
	v := &valueSets{of: make([]int, len(pool.Devices)), sets: [][]string{nil}}
	known := map[string]int{"": 0}
	for i := range pool.Devices {
		set := attributeValues(&pool.Devices[i], pool.ID.Driver, attribute)
		key := strings.Join(set, "\x00")
		at, ok := known[key]
		if !ok {
			at = len(v.sets)
			known[key] = at
			v.sets = append(v.sets, set)
		}
		v.of[i] = at
	}
	return v
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
	var list []string
	switch a := &attribute; {
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
