package defaults

import (
	rbacv1 "k8s.io/api/rbac/v1"
)

// RoleBinding sets the API groups of the role and the subjects.
func RoleBinding(b *rbacv1.RoleBinding) {
	roleRef(&b.RoleRef)
	subjects(b.Subjects)
}

// ClusterRoleBinding sets the API groups of the role and the subjects.
func ClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	roleRef(&b.RoleRef)
	subjects(b.Subjects)
}

func roleRef(ref *rbacv1.RoleRef) {
	if ref.APIGroup == "" {
		ref.APIGroup = rbacv1.GroupName
	}
}

func subjects(list []rbacv1.Subject) {
	for i := range list {
		if s := &list[i]; s.APIGroup == "" && (s.Kind == rbacv1.UserKind || s.Kind == rbacv1.GroupKind) {
			s.APIGroup = rbacv1.GroupName
		}
	}
}
