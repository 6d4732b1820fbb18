package printers

import (
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// createdColumn shows the creation time of a role, which is more useful than its age.
func createdColumn() metav1.TableColumnDefinition {
	return column("Created At", "date", metav1.ObjectMeta{}, "creationTimestamp")
}

// Role returns the printer of Roles.
func Role() Printer {
	return typed([]metav1.TableColumnDefinition{nameColumn(), createdColumn()}, func(r *rbacv1.Role, _ time.Time) []any {
		return []any{r.Name, created(r.CreationTimestamp)}
	})
}

// ClusterRole returns the printer of ClusterRoles.
func ClusterRole() Printer {
	return typed(
		[]metav1.TableColumnDefinition{nameColumn(), createdColumn()},
		func(r *rbacv1.ClusterRole, _ time.Time) []any {
			return []any{r.Name, created(r.CreationTimestamp)}
		},
	)
}

func created(at metav1.Time) string { return at.UTC().Format(time.RFC3339) }

func bindingColumns(of documented) []metav1.TableColumnDefinition {
	return []metav1.TableColumnDefinition{
		nameColumn(),
		column("Role", "string", of, "roleRef"),
		ageColumn(),
		wideOnly(computedColumn("Users", "string", "The users to which the role is granted.")),
		wideOnly(computedColumn("Groups", "string", "The groups to which the role is granted.")),
		wideOnly(computedColumn("ServiceAccounts", "string", "The service accounts to which the role is granted.")),
	}
}

// RoleBinding returns the printer of RoleBindings.
func RoleBinding() Printer {
	return typed(bindingColumns(rbacv1.RoleBinding{}), func(b *rbacv1.RoleBinding, now time.Time) []any {
		return bindingCells(&b.ObjectMeta, b.RoleRef, b.Subjects, now)
	})
}

// ClusterRoleBinding returns the printer of ClusterRoleBindings.
func ClusterRoleBinding() Printer {
	return typed(bindingColumns(rbacv1.ClusterRoleBinding{}), func(b *rbacv1.ClusterRoleBinding, now time.Time) []any {
		return bindingCells(&b.ObjectMeta, b.RoleRef, b.Subjects, now)
	})
}

func bindingCells(meta *metav1.ObjectMeta, ref rbacv1.RoleRef, subjects []rbacv1.Subject, now time.Time) []any {
	names := map[string][]string{}
	for _, s := range subjects {
		name := s.Name
		if s.Kind == rbacv1.ServiceAccountKind {
			name = s.Namespace + "/" + s.Name
		}
		names[s.Kind] = append(names[s.Kind], name)
	}
	list := func(kind string) string { return strings.Join(names[kind], ", ") }
	return []any{
		meta.Name, ref.Kind + "/" + ref.Name, age(meta.CreationTimestamp, now),
		list(rbacv1.UserKind), list(rbacv1.GroupKind), list(rbacv1.ServiceAccountKind),
	}
}
