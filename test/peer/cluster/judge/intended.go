package judge

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Rule is an intended difference.
type Rule struct {
	// Name describes the difference.
	Name string
	// Listed is the start of its row in DIFFERENCES.md, which has the reason.
	Listed string
	// Holds reports whether the rule explains a difference.
	Holds func(d Difference, r Request) bool
}

// Intended returns all intended differences.
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
			Holds:  concernsNewClaimReferences,
		},
		{
			Name:   "claims of trees of groups",
			Listed: "a claim for a whole tree of groups",
			Holds:  concernsTreeClaims,
		},
		{
			Name:   "PodGroups that are scheduled now",
			Listed: "conditions of PodGroups",
			Holds: func(d Difference, r Request) bool {
				return r.Kind == "PodGroup" && d.What == "cells" && d.Where == "Status" && r.has("conditions") &&
					strings.Contains(string(r.New), `"PodGroupScheduled"`)
			},
		},
		{
			Name:   "intended consumers, and claims for any pod",
			Listed: "other consumers of a claim",
			Holds:  concernsIntendedConsumers,
		},
		{
			Name:   "statuses of claims that give more than was asked for",
			Listed: "statuses that give rights which the spec does not ask for",
			Holds:  concernsStatusRights,
		},
		{
			Name:   "amounts, constraints, terms of devices, and alternatives that were chosen",
			Listed: "amounts in results, capacities and counters",
			Holds:  concernsAmounts,
		},
		{
			Name:   "32 claims of a group",
			Listed: "claims of a PodGroup, or of `spec.scheduling` of a Job",
			Holds:  concernsManyClaims,
		},
		{
			Name:   "a whole manifest may leave out the policy that was filled in",
			Listed: "a patch that takes from a PodGroup what was filled in at its creation",
			Holds: func(d Difference, r Request) bool {
				return d.kubernetes() && r.Kind == "PodGroup" && r.Verb == "update" && r.has("workloadRef") &&
					d.is("Invalid", "spec.schedulingPolicy", "spec.schedulingPolicy.basic", "spec.schedulingPolicy.gang")
			},
		},
		{
			Name:   "the finalizer of a PodGroup is there from the start",
			Listed: "PodGroup protection finalizer",
			Holds: func(d Difference, r Request) bool {
				return r.Kind == "PodGroup" && d.What == "object" && d.at("metadata.finalizers")
			},
		},
		{
			Name:   "PodGroups and Workloads count changes",
			Listed: "`metadata.generation` of PodGroups, CompositePodGroups and Workloads",
			Holds: func(d Difference, r Request) bool {
				return (r.Kind == "PodGroup" || r.Kind == "CompositePodGroup" || r.Kind == "Workload") && d.What == "object" &&
					d.at("metadata.generation")
			},
		},
		{
			Name:   "an empty list or map in place of none is no change of a NetworkPolicy",
			Listed: "`metadata.generation` of NetworkPolicies",
			Holds: func(d Difference, r Request) bool {
				return r.Kind == "NetworkPolicy" && r.Verb == "update" && d.What == "object" &&
					d.at("metadata.generation") && r.sameNetworkPolicy()
			},
		},
		{
			Name:   "the class of a PodGroup decides whether it preempts",
			Listed: "`preemptionPolicy` of a PodGroup",
			Holds: func(d Difference, r Request) bool {
				return (r.Kind == "PodGroup" || r.Kind == "CompositePodGroup") && d.What == "object" &&
					d.at("spec.preemptionPolicy")
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
			Name:   "rows of IPAddresses have no cell without a column",
			Listed: "table of IPAddresses",
			Holds: func(d Difference, r Request) bool {
				return r.Kind == "IPAddress" && d.What == "cells"
			},
		},
		{
			Name:   "no port is allocated for the health checks of a Service",
			Listed: "no address or port is free",
			Holds: func(d Difference, _ Request) bool {
				return d.kubernetes() && d.is("Required", "spec.healthCheckNodePort")
			},
		},
		{
			Name:   "the time of a NoExecute taint of a Node is there from the start",
			Listed: "when `tolerationSeconds` for taints of Nodes begin",
			Holds: func(d Difference, r Request) bool {
				return r.Kind == "Node" && d.What == "object" && d.at("spec.taints[].timeAdded")
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

// claimReference matches a cause in the list of claims of a pod, of a group or of a template.
var claimReference = regexp.MustCompile(`^FieldValueInvalid spec\.(.*\.)?resourceClaims\[\]$`)

// concernsNewClaimReferences reports whether a difference is about references to claims that
// Kubernetes does not know.
func concernsNewClaimReferences(d Difference, r Request) bool {
	fields := []string{"podGroupResourceClaim", "clusterResourceClaimTemplateName"}
	if !r.has(fields...) {
		return false
	}
	return d.decoding(fields...) ||
		d.allot() && r.Verb == "update" && (d.is("Forbidden", "spec") || d.is("Invalid", "spec.resourceClaims")) ||
		claimReference.MatchString(d.Where) ||
		d.allot() && d.at(fields...)
}

// treeClaim matches a field of the claims of a tree of groups, which Kubernetes does not know.
var treeClaim = regexp.MustCompile(`^spec\.resourceClaims\b|^status\.resourceClaimStatuses\b|` +
	`\bcompositePodGroupTemplates\[\]\.resourceClaims\b`)

// concernsTreeClaims reports whether a difference is about the claims of a CompositePodGroup, or of
// a template of one.
func concernsTreeClaims(d Difference, r Request) bool {
	switch {
	case r.Kind != "CompositePodGroup" && r.Kind != "Workload":
		return false
	case d.decoding("resourceClaims", "resourceClaimStatuses"):
		return r.Kind == "CompositePodGroup" || strings.Contains(d.Text, "ompositePodGroupTemplate")
	case d.What != "object" && !d.allot():
		return false
	}
	// Before the field is the type of the cause, or the version of the object.
	_, field, _ := strings.Cut(d.Where, " ")
	field = strings.TrimPrefix(field, ".")
	return treeClaim.MatchString(field) &&
		(r.Kind == "CompositePodGroup" || strings.Contains(field, "compositePodGroupTemplates"))
}

// concernsIntendedConsumers reports whether a difference is about spec.reservedFor or
// reservedForAnyPod.
func concernsIntendedConsumers(d Difference, r Request) bool {
	return strings.Contains(d.Where, "pec.reservedFor") || strings.Contains(d.Where, "reservedForAnyPod") ||
		d.decoding("reservedFor", "reservedForAnyPod") ||
		d.allot() && r.claims() && r.has("reservedFor") && d.is("Invalid", "spec")
}

// concernsStatusRights reports whether only allot rejects the status of a claim that gives more
// than the spec requests.
func concernsStatusRights(d Difference, r Request) bool {
	return d.allot() && r.Kind == "ResourceClaim" && r.Verb == "status" &&
		(d.is("Duplicate", "status.allocation.devices.results[]") || d.at("adminAccess"))
}

// concernsAmounts reports whether only allot rejects amounts, terms or constraints that cannot be
// satisfied.
func concernsAmounts(d Difference, r Request) bool {
	switch {
	case !d.allot():
		return false
	case r.Kind == "ResourceSlice":
		return d.is("Invalid", "spec.devices[].nodeSelector.nodeSelectorTerms", "spec.sharedCounters[].counters[].value",
			"spec.devices[].consumesCounters[].counters[].value", "spec.devices[].capacity[].value",
			"spec.devices[].capacity[].requestPolicy.validRange.min")
	case r.claims():
		return d.is("Invalid", "status.allocation.devices.results[].consumedCapacity[]",
			"status.allocation.devices.results[].request", "spec.devices.constraints[]", "spec.spec.devices.constraints[]")
	}
	return false
}

// concernsManyClaims reports whether a difference is about more claims of a group than Kubernetes
// permits. It does not validate the items of a list that is too long.
func concernsManyClaims(d Difference, r Request) bool {
	if d.is("TooMany", "spec.resourceClaims", "spec.podGroupTemplates[].resourceClaims", "spec.scheduling.resourceClaims",
		"status.resourceClaimStatuses") {
		return true
	}
	return d.allot() && r.groupClaims() > 4 &&
		(strings.Contains(d.Where, ".resourceClaims[]") || strings.Contains(d.Where, "status.resourceClaimStatuses[]"))
}

// explain returns the index of the rule that explains a difference, or -1.
func explain(d Difference, r Request) int {
	return slices.IndexFunc(intended, func(rule Rule) bool { return rule.Holds(d, r) })
}

var intended = Intended()

// groupClaims returns the length of the longest list of claims in the request.
func (r Request) groupClaims() int {
	var v any
	if err := json.Unmarshal(r.New, &v); err != nil {
		return 0
	}
	return max(longest("resourceClaims", v), longest("resourceClaimStatuses", v))
}

func longest(key string, v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		for k, value := range v {
			if list, ok := value.([]any); ok && k == key {
				n = max(n, len(list))
			}
			n = max(n, longest(key, value))
		}
	case []any:
		for _, value := range v {
			n = max(n, longest(key, value))
		}
	}
	return n
}

// claims reports whether the request is about a claim, or a template of claims.
func (r Request) claims() bool { return strings.HasPrefix(r.Kind, "ResourceClaim") }

// kubernetes reports whether only Kubernetes reports an error.
func (d Difference) kubernetes() bool { return strings.HasPrefix(d.What, "only Kubernetes ") }

// allot reports whether only allot reports an error.
func (d Difference) allot() bool { return strings.HasPrefix(d.What, "only allot ") }

// is reports whether the cause has a type, and one of some fields.
func (d Difference) is(kind string, fields ...string) bool {
	has, field, _ := strings.Cut(d.Where, " ")
	return has == "FieldValue"+kind && slices.Contains(fields, field)
}

// decoding reports whether it is only allot that cannot read the object, because it knows a field
// that Kubernetes skips, and the value in it has the wrong type.
func (d Difference) decoding(names ...string) bool {
	if d.What != "other refusal" && !(d.allot() && d.Where == "error") {
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return regexp.MustCompile(`json: cannot unmarshal \w+ into Go struct field \S*\b` + name + `\b`).MatchString(d.Text)
	})
}

// at reports whether the field of the cause has one of some names.
func (d Difference) at(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(d.Where, "."+name) })
}

// has reports whether the request has a field with one of some names.
func (r Request) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.Contains(string(r.New), `"`+name+`":`) || strings.Contains(string(r.Old), `"`+name+`":`)
	})
}
