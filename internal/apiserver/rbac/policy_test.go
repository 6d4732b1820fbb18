package rbac

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"pgregory.net/rapid"
)

// naive keeps the objects, and reads all of them for each question.
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

// TestPolicyEqualsReadingEverything changes roles and bindings at random, and compares the answers
// with those of the naive reference.
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
				rules := []rbacv1.PolicyRule{
					{
						Verbs:     []string{verbs.Draw(rt, "verb")},
						APIGroups: []string{""},
						Resources: []string{resources.Draw(rt, "resource")},
					},
				}
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
						Kind: kinds.Draw(rt, "kind"),
						Name: names.Draw(rt, "subject"), Namespace: namespaces.Draw(rt, "subject namespace"),
					})
				}
				if ns == "" {
					p.SetClusterRoleBinding(
						&rbacv1.ClusterRoleBinding{ObjectMeta: b.ObjectMeta, RoleRef: b.RoleRef, Subjects: b.Subjects},
					)
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
