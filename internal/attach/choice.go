package attach

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/features"
)

// The controllers that are enabled in attach mode if needed. Others must be enabled by name.
const (
	// Claim generates, reserves and releases claims.
	Claim = "claim"
	// PodGroup protects PodGroups from deletion while their pods run.
	PodGroup = "podgroup"
	// GroupClaim generates the claims of PodGroups of allot.dev.
	GroupClaim = "group-claim"
	// Limit reports what the cluster does not support.
	Limit = "limit"
	// Double finds devices allocated to two claims and deallocates one of the claims.
	Double = "double-allocation"
)

// release is the minor version of Kubernetes whose types are built in.
const release = 37

// extendedRelease is the first minor version with extended resources backed by DRA enabled by
// default.
const extendedRelease = 36

// Choice has the components to run on a server, and the way to access it.
type Choice struct {
	Survey  Survey
	Dialect client.Dialect
	// Features are the enabled features.
	Features features.Set
	// Absent lists the kinds that the server does not serve, by their names in client.Informers.
	Absent []string
	// Controllers lists the controllers to run, sorted.
	Controllers []string
	// Notes describe, in full sentences, restrictions that users should know.
	Notes []string
}

// Own reports whether PodGroups are those of allot.dev.
func (c *Choice) Own() bool { return c.Dialect.Own() }

// Choose returns what to run on a server. wanted lists controllers to run in addition to the
// required ones, or not to run if prefixed with a minus; on are the features that the user has not
// disabled.
func Choose(s Survey, wanted []string, on features.Set) Choice {
	c := Choice{Survey: s, Features: on, Dialect: client.Dialect{Newer: s.Minor > release}}
	run := []string{Double}
	switch {
	case s.Groups.Empty():
		c.Features = c.Features.Without(features.GenericWorkload)
		c.Absent = append(c.Absent, "podgroups", "workloads")
		c.addNote(
			"The server has no PodGroups, neither of scheduling.k8s.io nor of allot.dev: pods are placed one by one. Apply the CustomResourceDefinitions of the chart to have groups.",
		)
	case s.Groups.Group == schedulingv1beta1.GroupName:
		c.Dialect.Groups = s.Groups
		run = append(run, Limit)
		c.addNote(
			"The server has PodGroups of %s: its own controller manager makes their claims and protects them (--controllers=%s,%s if it does not).",
			s.Groups, Claim, PodGroup,
		)
	default:
		c.Dialect.Groups = s.Groups
		// Claims of groups are ordinary claims here. A stock kubelet accepts them only if they are
		// reserved for the pod.
		c.Features = c.Features.Without(features.WorkloadClaims)
		run = append(run, PodGroup, GroupClaim, Limit)
		c.addNote("The server has no PodGroups of its own: those of %s are used, and pods join them by the label.", s.Groups)
		if s.Policies == "" {
			c.addNote(
				"The server has no MutatingAdmissionPolicies: pods have to name the claims of their groups in full (PodGroup-entry).",
			)
		}
	}
	if c.Dialect.Newer {
		c.addNote("The server is newer than Kubernetes 1.%d: what it has beyond that is left as it is.", release)
	}
	c.optional(s)
	c.Controllers = applyWanted(run, wanted)
	return c
}

// optional removes the kinds that are not required.
func (c *Choice) optional(s Survey) {
	for _, o := range s.optional() {
		switch {
		case *o.read:
			continue
		case slices.Contains(s.Refused, o.kind):
			c.addNote("This process may not list and watch %s: it does not know %s.", o.kind, o.dependent)
		}
		c.Absent = append(c.Absent, o.kind)
	}
	if !s.Groups.Empty() && !s.Workloads {
		c.Absent = append(c.Absent, "workloads")
	}
	if !s.ClusterTemplates {
		c.Features = c.Features.Without(features.ClusterTemplates)
		c.Absent = append(c.Absent, "clusterresourceclaimtemplates")
	}
	c.Features = c.Features.Without(features.CompositePodGroup) // trees are placed by allot's own server's scheduler only
	if s.Minor < extendedRelease {
		c.Features = c.Features.Without(features.ExtendedResource)
	}
	switch {
	case s.TaintRules.Empty():
		c.Features = c.Features.Without(features.DeviceTaintRules)
		c.Absent = append(c.Absent, "devicetaintrules")
	case s.TaintRules != resourcev1.SchemeGroupVersion:
		c.Dialect.TaintRules = s.TaintRules
	}
}

func (c *Choice) addNote(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// applyWanted adds the wanted names and removes those prefixed with a minus.
func applyWanted(run, wanted []string) []string {
	for _, name := range wanted {
		if off, ok := strings.CutPrefix(name, "-"); ok {
			run = slices.DeleteFunc(run, func(r string) bool { return r == off })
		} else if !slices.Contains(run, name) {
			run = append(run, name)
		}
	}
	slices.Sort(run)
	return run
}
