package rbac

import (
	"fmt"
	"slices"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
)

// Policy is all roles and bindings. It may be used by many goroutines.
type Policy struct {
	mu sync.RWMutex
	// roles are the rules of a role; a ClusterRole has no namespace.
	roles map[object][]rbacv1.PolicyRule
	// subjects are those of each binding, to find its grants again.
	subjects map[object][]subject
	grants   map[subject]scopes
}

// object names a role or a binding.
type object struct {
	namespace, name string
}

// subject is a user or a group. A service account is a user.
type subject struct {
	group bool
	name  string
}

// scopes are the grants of a subject by namespace; those without one count everywhere.
type scopes map[string][]grant

// grant is what one binding gives to one subject.
type grant struct {
	binding, role object
	// reason says by what a request was allowed.
	reason string
}

// NewPolicy makes an empty Policy, which allows nothing.
func NewPolicy() *Policy {
	return &Policy{roles: map[object][]rbacv1.PolicyRule{}, subjects: map[object][]subject{}, grants: map[subject]scopes{}}
}

// SetRole puts a Role or, without a namespace, a ClusterRole in place. The rules must not be changed afterwards.
func (p *Policy) SetRole(namespace, name string, rules []rbacv1.PolicyRule) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.roles[object{namespace, name}] = rules
}

// DeleteRole forgets a role.
func (p *Policy) DeleteRole(namespace, name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.roles, object{namespace, name})
}

// SetRoleBinding puts a RoleBinding in place.
func (p *Policy) SetRoleBinding(b *rbacv1.RoleBinding) {
	p.setBinding(object{b.Namespace, b.Name}, b.RoleRef, b.Subjects)
}

// SetClusterRoleBinding puts a ClusterRoleBinding in place.
func (p *Policy) SetClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	p.setBinding(object{"", b.Name}, b.RoleRef, b.Subjects)
}

// DeleteBinding forgets a RoleBinding or, without a namespace, a ClusterRoleBinding.
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

// roleOf is the role that a binding of namespace refers to.
func roleOf(ref rbacv1.RoleRef, namespace string) object {
	if ref.Kind == "ClusterRole" {
		return object{"", ref.Name}
	}
	return object{namespace, ref.Name}
}

// subjectOf is who a subject of a binding of namespace is. A service account without a namespace is one of the binding's.
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
