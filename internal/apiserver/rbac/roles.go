package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
)

const (
	read      = "get list watch"
	write     = "create update patch delete deletecollection"
	readWrite = read + " " + write

	groupAuthentication = "authentication.k8s.io"
	groupAuthorization  = "authorization.k8s.io"
	groupCertificates   = "certificates.k8s.io"
	groupCoordination   = "coordination.k8s.io"
	groupDiscovery      = "discovery.k8s.io"
	groupEvents         = "events.k8s.io"
	groupResource       = "resource.k8s.io"
	groupScheduling     = "scheduling.k8s.io"
	groupPlacement      = "placement.allot.dev"
	groupStorage        = "storage.k8s.io"
)

// allow returns a rule. The lists are separated by spaces.
func allow(verbs, group, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{
		Verbs:     strings.Fields(verbs),
		APIGroups: []string{group},
		Resources: strings.Fields(resources),
	}
}

// allowNamed returns a rule for objects with given names.
func allowNamed(verbs, group, resources, names string) rbacv1.PolicyRule {
	rule := allow(verbs, group, resources)
	rule.ResourceNames = strings.Fields(names)
	return rule
}

func allowPaths(verbs, paths string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: strings.Fields(verbs), NonResourceURLs: strings.Fields(paths)}
}

// SystemRoles are the ClusterRoles that every server has, with their labels and annotations. The
// roles view, edit and admin allow what the classes of the served resources say.
func SystemRoles(served []Resource) []rbacv1.ClusterRole {
	roles := slices.Concat(userRoles(), aggregatedRoles(served), partRoles(), certificateRoles())
	for i := range roles {
		markBootstrapped(&roles[i].ObjectMeta)
	}
	return roles
}

// SystemBindings returns the ClusterRoleBindings that every server has.
func SystemBindings() []rbacv1.ClusterRoleBinding {
	group := func(name string) rbacv1.Subject {
		return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}
	}
	bindings := []rbacv1.ClusterRoleBinding{
		clusterRoleBinding("cluster-admin", group(user.SystemPrivilegedGroup)),
		clusterRoleBinding("system:monitoring", group(user.MonitoringGroup)),
		clusterRoleBinding("system:discovery", group(user.AllAuthenticated)),
		clusterRoleBinding("system:basic-user", group(user.AllAuthenticated)),
		clusterRoleBinding("system:public-info-viewer", group(user.AllAuthenticated), group(user.AllUnauthenticated)),
		clusterRoleBinding(nodeBinding), // the node authorizer has the rules; the group is bound to no role
	}
	bindings = append(bindings, joinBindings()...)
	for _, p := range parts() {
		bindings = append(bindings, clusterRoleBinding(p.role, p.subjects...))
	}
	for i := range bindings {
		markBootstrapped(&bindings[i].ObjectMeta)
	}
	return bindings
}

// clusterRoleBinding returns a ClusterRoleBinding with the name of the ClusterRole.
func clusterRoleBinding(role string, subjects ...rbacv1.Subject) rbacv1.ClusterRoleBinding {
	return rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   subjects,
	}
}

// markBootstrapped marks an object as created and maintained by the server.
func markBootstrapped(meta *metav1.ObjectMeta) {
	if meta.Labels == nil {
		meta.Labels = map[string]string{}
	}
	meta.Labels["kubernetes.io/bootstrapping"] = "rbac-defaults"
	meta.Annotations = map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"}
}

func role(name string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	return rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
}

// userRoles returns the roles for all users, and cluster-admin.
func userRoles() []rbacv1.ClusterRole {
	const health = "/livez /readyz /healthz"
	return []rbacv1.ClusterRole{
		role("cluster-admin", allow("*", "*", "*"), allowPaths("*", "*")),
		role("system:discovery",
			allowPaths("get", health+" /version /version/ /openapi /openapi/* /api /api/* /apis /apis/*")),
		role("system:public-info-viewer", allowPaths("get", health+" /version /version/")),
		role("system:monitoring", allowPaths("get", health+" /livez/* /readyz/* /healthz/* /metrics /metrics/slis")),
		role("system:basic-user",
			allow("create", groupAuthorization, "selfsubjectaccessreviews selfsubjectrulesreviews"),
			allow("create", groupAuthentication, "selfsubjectreviews"),
		),
		role("system:auth-delegator",
			allow("create", groupAuthentication, "tokenreviews"),
			allow("create", groupAuthorization, "subjectaccessreviews"),
		),
	}
}

// aggregatedRoles returns admin, edit and view. Each aggregates roles by a label, which other roles
// can have too.
func aggregatedRoles(served []Resource) []rbacv1.ClusterRole {
	return []rbacv1.ClusterRole{
		aggregatingRole("admin", ""), aggregatingRole("edit", "admin"), aggregatingRole("view", "edit"),
		aggregatedRole("admin", append(grants{Administrative: readWrite}.rulesFor(served),
			allow("create", groupAuthorization, "localsubjectaccessreviews"),
		)...),
		aggregatedRole("edit", editRules(served)...),
		aggregatedRole("view", viewRules(served)...),
	}
}

func aggregateTo(name string) string { return "rbac.authorization.k8s.io/aggregate-to-" + name }

// aggregatingRole returns a role that aggregates the roles with its label, and that is aggregated
// by another role.
func aggregatingRole(name, by string) rbacv1.ClusterRole {
	out := role(name)
	out.AggregationRule = &rbacv1.AggregationRule{
		ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: map[string]string{aggregateTo(name): "true"}}},
	}
	if by != "" {
		out.Labels = map[string]string{aggregateTo(by): "true"}
	}
	return out
}

func aggregatedRole(by string, rules ...rbacv1.PolicyRule) rbacv1.ClusterRole {
	out := role("system:aggregate-to-"+by, rules...)
	out.Labels = map[string]string{aggregateTo(by): "true"}
	return out
}

// viewRules returns rules that allow reading all objects of a namespace, except those that grant
// further permissions. Rules for cluster-scoped kinds apply only if the role is bound by a
// ClusterRoleBinding. Some resources are not stored kinds of this server.
func viewRules(served []Resource) []rbacv1.PolicyRule {
	return append(grants{ReadWrite: read, ReadOnly: read}.rulesFor(served),
		allow(read, "", "bindings"),
		allow(read, groupEvents, "events"),
		allow(read, groupDiscovery, "endpointslices"),
	)
}

// editRules returns rules that allow changing all objects of a namespace except roles, bindings,
// quotas and status.
func editRules(served []Resource) []rbacv1.PolicyRule {
	return append(grants{ReadWrite: write, Confidential: readWrite, Requested: "create"}.rulesFor(served),
		allow(readWrite, "", "pods/proxy"),
		allow("impersonate", "", "serviceaccounts"),
		allow(write, groupEvents, "events"),
	)
}
