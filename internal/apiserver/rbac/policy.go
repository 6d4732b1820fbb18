package rbac

import (
	"fmt"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Policy has all roles and bindings. It is safe for concurrent use.
type Policy struct {
	mu sync.RWMutex
	// roles has the rules of each role. A ClusterRole has no namespace.
	roles map[object][]rbacv1.PolicyRule
	// subjects has the subjects of each binding, by which its grants are found.
	subjects map[object][]subject
	grants   map[subject]scopes
}

// object identifies a role or a binding.
type object struct {
	namespace, name string
}

// subject is a user or a group. A service account is a user.
type subject struct {
	group bool
	name  string
}

// scopes has the grants of a subject by namespace. Those without a namespace apply in all.
type scopes map[string][]grant

// grant is the role that one binding grants to one subject.
type grant struct {
	binding, role object
	// reason is the text for a request that was allowed by this grant.
	reason string
}

// NewPolicy returns an empty Policy, which allows nothing.
func NewPolicy() *Policy {
	return &Policy{roles: map[object][]rbacv1.PolicyRule{}, subjects: map[object][]subject{}, grants: map[subject]scopes{}}
}

// SetRole adds or replaces a Role or, without a namespace, a ClusterRole. The rules must not be
// modified afterwards.
func (p *Policy) SetRole(namespace, name string, rules []rbacv1.PolicyRule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles[object{namespace, name}] = rules
}

// DeleteRole deletes a Role or ClusterRole.
func (p *Policy) DeleteRole(namespace, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.roles, object{namespace, name})
}

// SetRoleBinding adds or replaces a RoleBinding.
func (p *Policy) SetRoleBinding(b *rbacv1.RoleBinding) {
	p.setBinding(object{b.Namespace, b.Name}, b.RoleRef, b.Subjects)
}

// SetClusterRoleBinding adds or replaces a ClusterRoleBinding.
func (p *Policy) SetClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	p.setBinding(object{"", b.Name}, b.RoleRef, b.Subjects)
}

// DeleteBinding deletes a RoleBinding or, without a namespace, a ClusterRoleBinding.
func (p *Policy) DeleteBinding(namespace, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleteBinding(object{namespace, name})
}

func (p *Policy) setBinding(id object, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deleteBinding(id)
	role := roleOf(ref, id.namespace)
	for i := range subjects {
		s, ok := subjectOf(&subjects[i], id.namespace)
		if !ok || slices.Contains(p.subjects[id], s) {
			continue
		}
		p.subjects[id] = append(p.subjects[id], s)
		if p.grants[s] == nil {
			p.grants[s] = scopes{}
		}
		p.grants[s][id.namespace] = append(p.grants[s][id.namespace], grant{id, role, reason(id, ref, &subjects[i])})
	}
}

func (p *Policy) deleteBinding(id object) {
	for _, s := range p.subjects[id] {
		left := slices.DeleteFunc(p.grants[s][id.namespace], func(g grant) bool { return g.binding == id })
		if len(left) > 0 {
			p.grants[s][id.namespace] = left
			continue
		}
		delete(p.grants[s], id.namespace)
		if len(p.grants[s]) == 0 {
			delete(p.grants, s)
		}
	}
	delete(p.subjects, id)
}

// roleOf returns the role to which a binding in namespace refers.
func roleOf(ref rbacv1.RoleRef, namespace string) object {
	if ref.Kind == "ClusterRole" {
		return object{"", ref.Name}
	}
	return object{namespace, ref.Name}
}

// subjectOf returns the subject for an entry of a binding. A service account without a namespace is
// in that of the binding.
func subjectOf(s *rbacv1.Subject, namespace string) (subject, bool) {
	switch s.Kind {
	case rbacv1.UserKind:
		return subject{name: s.Name}, true
	case rbacv1.GroupKind:
		return subject{group: true, name: s.Name}, true
	case rbacv1.ServiceAccountKind:
		if s.Namespace != "" {
			namespace = s.Namespace
		}
		return subject{name: serviceaccount.MakeUsername(namespace, s.Name)}, namespace != ""
	}
	return subject{}, false
}

func reason(id object, ref rbacv1.RoleRef, s *rbacv1.Subject) string {
	kind, name := "ClusterRoleBinding", id.name
	if id.namespace != "" {
		kind, name = "RoleBinding", id.namespace+"/"+id.name
	}
	who := s.Name
	if s.Namespace != "" {
		who = s.Namespace + "/" + s.Name
	}
	return fmt.Sprintf("RBAC: %s %q gives %s %q to %s %q", kind, name, ref.Kind, ref.Name, s.Kind, who)
}
