package attach

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

const (
	read       = "get list watch"
	coordinate = "coordination.k8s.io"
)

// allow returns a rule; verbs and resources are separated by spaces.
func allow(verbs, group, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs:     strings.Fields(verbs),
		APIGroups: []string{group},
		Resources: strings.Fields(resources),
	}
}

// named restricts a rule to objects with these names.
func named(rule rbacv1.PolicyRule, names ...string) rbacv1.PolicyRule {
	rule.ResourceNames = names
	return rule
}

// Rules returns the permissions that a choice needs in all namespaces.
func Rules(c *Choice) []rbacv1.PolicyRule {
	rules := schedulerRules()
	group := schedulingv1beta1.GroupName
	if c.Own() {
		group = allotv1alpha1.GroupName
	}
	if !c.Survey.Groups.Empty() {
		rules = append(rules, groupRules(group)...)
	}
	if !c.Survey.TaintRules.Empty() {
		rules = append(rules, taintRules()...)
	}
	for _, o := range c.Survey.optional() {
		if *o.read {
			rules = append(rules, o.rule)
		}
	}
	for _, name := range c.Controllers {
		rules = append(rules, controllerRules(name, group)...)
	}
	return rules
}

// RulesByPart returns the same permissions by role of the chart: those for every cluster, for
// clusters with PodGroups of their own, for clusters with those of allot.dev, and for each optional
// controller.
func RulesByPart() map[string][]rbacv1.PolicyRule {
	native, own := schedulingv1beta1.GroupName, allotv1alpha1.GroupName
	return map[string][]rbacv1.PolicyRule{
		"common": slices.Concat(schedulerRules(), taintRules(), optionalRules()),
		"native": groupRules(native),
		"own": slices.Concat(groupRules(own), controllerRules(PodGroup, own),
			controllerRules(GroupClaim, own)),
		"native-" + Claim:    controllerRules(Claim, native),
		"native-" + PodGroup: controllerRules(PodGroup, native),
		"lease":              LeaseRules("allot-attach"),
	}
}

// LeaseRules returns the permissions for leader election in the namespace of the lease.
func LeaseRules(lease string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("create", coordinate, "leases"),
		named(allow("get update patch", coordinate, "leases"), lease),
	}
}

func groupRules(group string) []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{allow(read, group, "podgroups"), allow("update patch", group, "podgroups/status")}
}

func taintRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{allow("list watch", resourcev1.GroupName, "devicetaintrules")}
}

// schedulerRules returns the permissions for scheduling pods without a group.
func schedulerRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		allow("create patch update", "", "events"),
		allow("get list watch delete", "", "pods"),
		allow("create", "", "pods/binding"),
		allow("patch update", "", "pods/status"),
		allow("list watch", "", "nodes namespaces persistentvolumes persistentvolumeclaims"),
		allow("list watch", "policy", "poddisruptionbudgets"),
		// Whether a StatefulSet creates its pods one by one, which is said of a gang that lacks pods.
		allow("get", "apps", "statefulsets"),
		allow("list watch", resourcev1.GroupName,
			"deviceclasses resourceslices resourceclaimtemplates clusterresourceclaimtemplates"),
		// Claims for extended resources are created and deleted.
		allow("get list watch create update patch delete", resourcev1.GroupName, "resourceclaims"),
		allow("update patch", resourcev1.GroupName, "resourceclaims/status"),
		// Since Kubernetes 1.36, changing an allocation or its consumers requires this as well
		// (F69).
		allow("update patch", resourcev1.GroupName, "resourceclaims/"+resourcev1.SubresourceBinding),
	}
}

// controllerRules returns the permissions of one controller. Controllers outside of this package
// have the permissions that the user grants.
func controllerRules(name, group string) []rbacv1.PolicyRule {
	switch name {
	case Claim:
		return []rbacv1.PolicyRule{
			allow("create delete", resourcev1.GroupName, "resourceclaims"),
			allow("list watch", resourcev1.GroupName, "resourceclaimtemplates"),
			allow("update", "", "pods/finalizers"),
			allow("update", group, "podgroups/finalizers"),
		}
	case PodGroup:
		return []rbacv1.PolicyRule{allow("patch", group, "podgroups")}
	case GroupClaim:
		return []rbacv1.PolicyRule{
			allow("create delete", resourcev1.GroupName, "resourceclaims"),
			allow("list watch", resourcev1.GroupName, "resourceclaimtemplates"),
			allow("patch", group, "podgroups"),
			allow("update", group, "podgroups/finalizers"),
		}
	}
	return nil
}
