package rbac

import (
	"fmt"
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"pgregory.net/rapid"
)

// naive keeps the objects, and reads them all for each question.
type naive struct {
	roles    map[string][]rbacv1.PolicyRule
	bindings map[string]rbacv1.RoleBinding
}

func (n naive) allows(who user.Info, a authorizer.AttributesRecord) bool {
	for _, b := range n.bindings {
		if b.Namespace != "" && b.Namespace != a.Namespace {
			continue
		}
		if !slices.ContainsFunc(b.Subjects, func(s rbacv1.Subject) bool {
			switch s.Kind {
			case "User":
				return s.Name == who.GetName()
			case "Group":
				return slices.Contains(who.GetGroups(), s.Name)
			}
			ns := s.Namespace
			if ns == "" {
				ns = b.Namespace
			}
			return "system:serviceaccount:"+ns+":"+s.Name == who.GetName()
		}) {
			continue
		}
		key := b.Namespace + "/" + b.RoleRef.Name
		if b.RoleRef.Kind == "ClusterRole" {
			key = "/" + b.RoleRef.Name
		}
		for _, r := range n.roles[key] {
			if (r.Verbs[0] == "*" || r.Verbs[0] == a.Verb) && (r.Resources[0] == "*" || r.Resources[0] == a.Resource) {
				return true
			}
		}
	}
	return false
}

// TestPolicyEqualsReadingEverything changes roles and bindings at random, and compares with the naive reference.
func TestPolicyEqualsReadingEverything(t *testing.T) {
	names := rapid.SampledFrom([]string{"a", "b", "c"})
	namespaces := rapid.SampledFrom([]string{"", "blue", "red"})
	kinds := rapid.SampledFrom([]string{"User", "Group", "ServiceAccount"})
	verbs := rapid.SampledFrom([]string{"get", "list", "*"})
	resources := rapid.SampledFrom([]string{"pods", "nodes", "*"})
	rapid.Check(t, func(rt *rapid.T) {
		p, n := NewPolicy(), naive{map[string][]rbacv1.PolicyRule{}, map[string]rbacv1.RoleBinding{}}
		for range rapid.IntRange(1, 25).Draw(rt, "changes") {
			ns, name := namespaces.Draw(rt, "namespace"), names.Draw(rt, "name")
			key := ns + "/" + name
			switch rapid.IntRange(0, 4).Draw(rt, "change") {
			case 0:
				p.DeleteRole(ns, name)
				delete(n.roles, key)
			case 1:
				p.DeleteBinding(ns, name)
				delete(n.bindings, key)
			case 2:
				rules := []rbacv1.PolicyRule{{Verbs: []string{verbs.Draw(rt, "verb")}, APIGroups: []string{""}, Resources: []string{resources.Draw(rt, "resource")}}}
				p.SetRole(ns, name, rules)
				n.roles[key] = rules
			default:
				b := rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
				b.RoleRef = rbacv1.RoleRef{Kind: "ClusterRole", Name: names.Draw(rt, "role")}
				if ns != "" {
					b.RoleRef.Kind = rapid.SampledFrom([]string{"Role", "ClusterRole"}).Draw(rt, "role kind")
				}
				for range rapid.IntRange(0, 3).Draw(rt, "subjects") {
					b.Subjects = append(b.Subjects, rbacv1.Subject{
						Kind: kinds.Draw(rt, "kind"), Name: names.Draw(rt, "subject"), Namespace: namespaces.Draw(rt, "subject namespace"),
					})
				}
				if ns == "" {
					p.SetClusterRoleBinding(&rbacv1.ClusterRoleBinding{ObjectMeta: b.ObjectMeta, RoleRef: b.RoleRef, Subjects: b.Subjects})
				} else {
					p.SetRoleBinding(&b)
				}
				n.bindings[key] = b
			}
		}
		for _, name := range []string{"a", "b", "system:serviceaccount:blue:a", "system:serviceaccount:red:b"} {
			for _, groups := range [][]string{nil, {"a"}, {"b", "c"}} {
				for _, ns := range []string{"", "blue", "red"} {
					who := &user.DefaultInfo{Name: name, Groups: groups}
					a := authorizer.AttributesRecord{User: who, Verb: "get", Resource: "pods", Namespace: ns, ResourceRequest: true}
					decision, _, _ := p.Authorize(t.Context(), a)
					if want := n.allows(who, a); (decision == authorizer.DecisionAllow) != want {
						rt.Fatalf("%s %v in %q: allowed is %t, want %t", name, groups, ns, !want, want)
					}
				}
			}
		}
	})
}

// TestSystemRolesAreBound: each binding is to a role that there is, names are unique, and every part has its role.
func TestSystemRolesAreBound(t *testing.T) {
	roles := map[string]bool{}
	for _, r := range SystemRoles() {
		if roles[r.Name] {
			t.Errorf("cluster role %s is there twice", r.Name)
		}
		roles[r.Name] = true
		if r.AggregationRule == nil && len(r.Rules) == 0 {
			t.Errorf("cluster role %s allows nothing", r.Name)
		}
	}
	bound := map[string]bool{}
	for _, b := range SystemBindings() {
		if !roles[b.RoleRef.Name] || bound[b.Name] {
			t.Errorf("binding %s: of role %s, there twice: %t", b.Name, b.RoleRef.Name, bound[b.Name])
		}
		bound[b.Name] = true
	}
	for _, p := range parts() {
		if !bound[p.role] {
			t.Errorf("nobody has the role %s", p.role)
		}
	}
}

// TestWhoMayDoWhat holds the rights that must not be had by accident.
func TestWhoMayDoWhat(t *testing.T) {
	p := NewPolicy()
	roles := SystemRoles()
	aggregated := aggregatedSystemRules(roles)
	for _, r := range roles {
		if rules, ok := aggregated[r.Name]; ok {
			r.Rules = rules
		}
		p.SetRole("", r.Name, r.Rules)
	}
	for _, b := range SystemBindings() {
		p.SetClusterRoleBinding(&b)
	}
	for _, name := range []string{"view", "edit", "admin"} {
		b := bind(name, rbacv1.Subject{Kind: rbacv1.UserKind, Name: name})
		p.SetClusterRoleBinding(&b)
	}
	scheduler, manager, fleet := "system:kube-scheduler", "system:kube-controller-manager", FleetUser
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
		"get clusterresourceclaimtemplates.resource.k8s.io":             {"view", "edit", "admin", scheduler, manager},
		"create clusterresourceclaimtemplates.resource.k8s.io":          {},
		"create rolebindings.rbac.authorization.k8s.io":                 {"admin"},
		"create clusterrolebindings.rbac.authorization.k8s.io":          {},
		"escalate roles.rbac.authorization.k8s.io":                      {},
		"impersonate users": {},
		"get /metrics":      {},
		"get /apis/apps/v1": {"view", "edit", "admin", scheduler, manager, fleet, "node"},
	} {
		for _, name := range []string{"view", "edit", "admin", scheduler, manager, fleet, "node"} {
			who := &user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}
			if name == "node" {
				who = &user.DefaultInfo{Name: "system:node:n", Groups: []string{user.NodesGroup, user.AllAuthenticated}}
			}
			decision, reason, _ := p.Authorize(t.Context(), attributes(who, request))
			if got := decision == authorizer.DecisionAllow; got != slices.Contains(want, name) {
				t.Errorf("%s: %s: allowed is %t (%s)", request, name, got, reason)
			}
		}
	}
}

// BenchmarkAuthorize asks for the most frequent writes of allot's own parts, with 2,000 other bindings around.
func BenchmarkAuthorize(b *testing.B) {
	p := NewPolicy()
	for _, r := range SystemRoles() {
		p.SetRole("", r.Name, r.Rules)
	}
	for _, binding := range SystemBindings() {
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
		FleetUser:                        "update pods/status p -n ns-1",
		"nobody":                         "delete pods p -n ns-1",
	} {
		a := attributes(&user.DefaultInfo{Name: name, Groups: []string{user.AllAuthenticated}}, request)
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
