package rbac_test

import (
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/registry"
)

// TestSystemRolesAreBound checks that each binding is to an existing role, names are unique, and
// every part has its role.
func TestSystemRolesAreBound(t *testing.T) {
	roles := map[string]bool{}
	for _, r := range rbac.SystemRoles(registry.Resources()) {
		if roles[r.Name] {
			t.Errorf("cluster role %s is there twice", r.Name)
		}
		roles[r.Name] = true
		if r.AggregationRule == nil && len(r.Rules) == 0 {
			t.Errorf("cluster role %s allows nothing", r.Name)
		}
	}
	bound := map[string]bool{}
	for _, b := range rbac.SystemBindings() {
		if !roles[b.RoleRef.Name] || bound[b.Name] {
			t.Errorf("binding %s: of role %s, there twice: %t", b.Name, b.RoleRef.Name, bound[b.Name])
		}
		bound[b.Name] = true
	}
	for _, name := range rbac.PartRoles() {
		if !bound[name] {
			t.Errorf("nobody has the role %s", name)
		}
	}
}

// TestSensitivePermissions checks permissions that must not be granted accidentally.
func TestSensitivePermissions(t *testing.T) {
	p := rbac.NewPolicy()
	roles := rbac.SystemRoles(registry.Resources())
	aggregated := rbac.AggregatedSystemRules(roles)
	for _, r := range roles {
		if rules, ok := aggregated[r.Name]; ok {
			r.Rules = rules
		}
		p.SetRole("", r.Name, r.Rules)
	}
	for _, b := range rbac.SystemBindings() {
		p.SetClusterRoleBinding(&b)
	}
	for _, name := range []string{"view", "edit", "admin"} {
		b := rbac.Bind(name, rbacv1.Subject{Kind: rbacv1.UserKind, Name: name})
		p.SetClusterRoleBinding(&b)
	}
	scheduler, manager, fleet := "system:kube-scheduler", "system:kube-controller-manager", rbac.FleetUser
	for request, want := range map[string][]string{
		"get pods":            {"view", "edit", "admin", scheduler, manager, fleet},
		"get secrets":         {"edit", "admin", manager},
		"create pods":         {"edit", "admin", manager},
		"update pods/status":  {scheduler, manager, fleet},
		"create pods/binding": {scheduler},
		"update resourceclaims.resource.k8s.io/status":                  {scheduler, manager, fleet},
		"update resourceclaims.resource.k8s.io/binding":                 {scheduler, manager},
		"arbitrary-node:update resourceclaims.resource.k8s.io/driver x": {fleet},
		"update podgroups.scheduling.k8s.io/status":                     {scheduler, manager},
		"create podgroups.scheduling.k8s.io":                            {"edit", "admin", manager},
		"get deviceclasses.resource.k8s.io":                             {scheduler, manager, fleet},
		"get clusterresourceclaimtemplates.resource.k8s.io":             {"view", "edit", "admin", scheduler, manager},
		"create clusterresourceclaimtemplates.resource.k8s.io":          {},
		"create rolebindings.rbac.authorization.k8s.io":                 {"admin"},
		"create clusterrolebindings.rbac.authorization.k8s.io":          {},
		"escalate roles.rbac.authorization.k8s.io":                      {},
		"impersonate users":                                             {},
		"get /metrics":                                                  {},
		"get /apis/apps/v1": {"view", "edit", "admin", scheduler, manager, fleet,
			"node"},
	} {
		for _, name := range []string{"view", "edit", "admin", scheduler, manager, fleet, "node"} {
			who := &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}
			if name == "node" {
				who = &user.DefaultInfo{Name: "system:node:n", Groups: []string{user.NodesGroup, user.AllAuthenticated}}
			}
			decision, reason, _ := p.Authorize(t.Context(), rbac.Attributes(who, request))
			if got := decision == authorizer.DecisionAllow; got != slices.Contains(want, name) {
				t.Errorf("%s: %s: allowed is %t (%s)", request, name, got, reason)
			}
		}
	}
}

// TestPermissionsOfNodes checks the permissions of every node, and of a machine that joins.
func TestPermissionsOfNodes(t *testing.T) {
	p := rbac.NewPolicy()
	for _, r := range rbac.SystemRoles(registry.Resources()) {
		p.SetRole("", r.Name, r.Rules)
	}
	for _, b := range rbac.SystemBindings() {
		p.SetClusterRoleBinding(&b)
	}
	node := &user.DefaultInfo{Name: "system:node:n", Groups: []string{user.NodesGroup, user.AllAuthenticated}}
	machine := &user.DefaultInfo{
		Name: "system:bootstrap:abcdef", Groups: []string{"system:bootstrappers", rbac.JoiningGroup, user.AllAuthenticated},
	}
	other := &user.DefaultInfo{
		Name: "system:bootstrap:abcdeg", Groups: []string{"system:bootstrappers", user.AllAuthenticated},
	}
	const requests = "certificatesigningrequests.certificates.k8s.io"
	for request, want := range map[string][3]bool{ // node, machine, other
		"create " + requests:                     {true, true, false},
		"watch " + requests:                      {true, true, false},
		"create " + requests + "/nodeclient":     {false, true, false},
		"create " + requests + "/selfnodeclient": {true, false, false},
		"update " + requests + "/approval":       {false, false, false},
		"delete " + requests:                     {false, false, false},
		"get nodes":                              {false, false, false},
	} {
		for i, who := range []user.Info{node, machine, other} {
			a := rbac.Attributes(who, request)
			decision, _, err := p.Authorize(t.Context(), a)
			got := decision == authorizer.DecisionAllow || i == 0 && rbac.NodesMay(a)
			if err != nil || got != want[i] {
				t.Errorf("%s: %s: allowed is %t, error %v", who.GetName(), request, got, err)
			}
		}
	}
}

// BenchmarkAuthorize authorizes the most frequent writes of allot's own parts, with 2,000 other
// bindings.
func BenchmarkAuthorize(b *testing.B) {
	p := rbac.NewPolicy()
	for _, r := range rbac.SystemRoles(registry.Resources()) {
		p.SetRole("", r.Name, r.Rules)
	}
	for _, binding := range rbac.SystemBindings() {
		p.SetClusterRoleBinding(&binding)
	}
	for i := range 2000 {
		p.SetRoleBinding(&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: fmt.Sprintf("ns-%d", i%50), Name: fmt.Sprint(i)},
			RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: "view"},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, Name: fmt.Sprintf("user-%d", i%500)}},
		})
	}
	for name, request := range map[string]string{
		"system:kube-scheduler":          "create pods/binding p -n ns-1",
		"system:kube-controller-manager": "update resourceclaims.resource.k8s.io/status c -n ns-1",
		rbac.FleetUser:                   "update pods/status p -n ns-1",
		"nobody":                         "delete pods p -n ns-1",
	} {
		a := rbac.Attributes(&user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}, request)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := p.Authorize(b.Context(), a); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
