package judge

import (
	"slices"
	"strings"
)

// Rule is a difference that is intended.
type Rule struct {
	// Name says what differs.
	Name string
	// Listed is the beginning of the row of DIFFERENCES.md that has it, with the reason.
	Listed string
	// Holds reports whether a difference is of this kind.
	Holds func(d Difference, r Request) bool
}

// Intended returns all differences that are intended.
func Intended() []Rule {
	return []Rule{
		{
			Name:   "causes name the field in the object",
			Listed: "fields in causes",
			Holds:  func(d Difference, _ Request) bool { return d.What == "other path" },
		},
		{
			Name:   "claims of groups and of templates for all namespaces",
			Listed: "claims of groups and for all namespaces",
			Holds: func(d Difference, r Request) bool {
				return r.has("podGroupResourceClaim", "clusterResourceClaimTemplateName") && (d.What == "other refusal" ||
					d.allot() && r.Verb == "update" && d.is("Forbidden", "spec") ||
					d.is("Invalid", "spec.resourceClaims[]", "spec.template.spec.resourceClaims[]") ||
					d.allot() && d.at("podGroupResourceClaim", "clusterResourceClaimTemplateName"))
			},
		},
		{
			Name:   "wrong addresses are no internal errors",
			Listed: "fields in causes",
			Holds: func(d Difference, _ Request) bool {
				return d.What == "only Kubernetes says" && strings.HasPrefix(d.Where, "InternalError ")
			},
		},
		{
			// The admission plugin that sets the default service account runs before the strategy.
			Name:   "a token of no service account",
			Listed: "service account tokens",
			Holds: func(d Difference, _ Request) bool {
				return d.kubernetes() && d.is("Forbidden", "spec.volumes[].projected.sources[].serviceAccountToken")
			},
		},
	}
}

// explain returns the index of the rule that explains a difference, or -1.
func explain(d Difference, r Request) int {
	return slices.IndexFunc(intended, func(rule Rule) bool { return rule.Holds(d, r) })
}

var intended = Intended()

// kubernetes reports whether it is Kubernetes alone that finds fault.
func (d Difference) kubernetes() bool { return strings.HasPrefix(d.What, "only Kubernetes ") }

// allot reports whether it is allot alone that finds fault.
func (d Difference) allot() bool { return strings.HasPrefix(d.What, "only allot ") }

// is reports whether the cause has a type, and one of some fields.
func (d Difference) is(kind string, fields ...string) bool {
	has, field, _ := strings.Cut(d.Where, " ")
	return has == "FieldValue"+kind && slices.Contains(fields, field)
}

// at reports whether the field of the cause has one of some names.
func (d Difference) at(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(d.Where, "."+name) })
}

// has reports whether the request has a field of one of some names.
func (r Request) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.Contains(string(r.New), `"`+name+`":`) || strings.Contains(string(r.Old), `"`+name+`":`)
	})
}
