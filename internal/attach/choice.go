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

// The controllers that attaching may run. There are more, which are on only where they are asked for by name: each
// cluster has those of them that it needs.
const (
	// Claim generates, reserves and releases claims.
	Claim = "claim"
	// PodGroup protects PodGroups from being deleted while their pods run.
	PodGroup = "podgroup"
	// GroupClaim generates the claims of PodGroups of allot.dev.
	GroupClaim = "group-claim"
	// Limit says what the cluster cannot do.
	Limit = "limit"
	// Double finds devices that two claims have, and takes one of the claims back.
	Double = "double-allocation"
)

// release is the one in 1.x whose types are built in.
const release = 37

// extendedRelease is the first whose API servers and nodes know claims in the place of extended resources, unless told
// otherwise.
const extendedRelease = 36

// Choice is what to run on a server, and how to talk to it.
type Choice struct {
	Survey  Survey
	Dialect client.Dialect
	// Features are those that are on.
	Features features.Set
	// Absent are the kinds that the server does not have, as client.Informers calls them.
	Absent []string
	// Present are the kinds that the server has and allot's own does not.
	Present []string
	// Controllers are those that run, sorted.
	Controllers []string
	// Notes say in whole sentences what is not as one might expect.
	Notes []string
}

// Own says that PodGroups are those of allot.dev.
func (c *Choice) Own() bool { return c.Dialect.Own() }

// Choose decides what to run on a server. Wanted are names of controllers to run beyond those that have to, or not to
// run, with a minus before; on are the features that the user has left on.
func Choose(s Survey, wanted []string, on features.Set) Choice {
	c := Choice{Survey: s, Features: on, Dialect: client.Dialect{Newer: s.Minor > release}}
	run := []string{Double}
	switch {
	case s.Groups.Empty():
		c.Features = c.Features.Without(features.GenericWorkload)
		c.Absent = append(c.Absent, "podgroups", "workloads")
		c.note("The server has no PodGroups, neither of scheduling.k8s.io nor of allot.dev: pods are placed one by one. Apply the CustomResourceDefinitions of the chart to have groups.")
	case s.Groups.Group == schedulingv1beta1.GroupName:
		c.Dialect.Groups = s.Groups
		run = append(run, Limit)
		c.note("The server has PodGroups of %s: its own controller manager makes their claims and protects them (--controllers=%s,%s if it does not).", s.Groups, Claim, PodGroup)
	default:
		c.Dialect.Groups = s.Groups
		// The claims of groups are ordinary claims here, which a stock kubelet takes only if they are reserved for the pod.
		c.Features = c.Features.Without(features.WorkloadClaims)
		run = append(run, PodGroup, GroupClaim, Limit)
		c.note("The server has no PodGroups of its own: those of %s are used, and pods join them by the label.", s.Groups)
		if s.Policies == "" {
			c.note("The server has no MutatingAdmissionPolicies: pods have to name the claims of their groups in full (PodGroup-entry).")
		}
	}
	if c.Dialect.Newer {
		c.note("The server is newer than Kubernetes 1.%d: what it has beyond that is left as it is.", release)
	}
	c.optional(s)
	c.Controllers = adjusted(run, wanted)
	return c
}

// optional leaves out the kinds that nothing depends on.
func (c *Choice) optional(s Survey) {
	for _, o := range s.optional() {
		switch {
		case *o.read:
			c.Present = append(c.Present, o.kind)
			continue
		case slices.Contains(s.Refused, o.kind):
			c.note("This process may not list and watch %s: it does not know %s.", o.kind, o.of)
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

func (c *Choice) note(format string, args ...any) {
	c.Notes = append(c.Notes, fmt.Sprintf(format, args...))
}

// adjusted adds the wanted names, and takes off those with a minus.
func adjusted(run, wanted []string) []string {
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
