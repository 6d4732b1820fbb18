package registry

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/registry/rest"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// rbacKinds returns the roles and bindings. They cannot be used to grant permissions that the user
// does not have.
func rbacKinds(a Access) []entry {
	return []entry{
		&kind[rbacv1.Role, *rbacv1.Role]{
			names:          rbacNames("roles", "role", false),
			newList:        func() runtime.Object { return &rbacv1.RoleList{} },
			defaults:       noDefaults[*rbacv1.Role],
			printer:        printers.Role,
			class:          rbac.Administrative,
			createOnUpdate: true,

			validate:       validation.ValidateRole,
			validateUpdate: validation.ValidateRoleUpdate,
			wrap: checkedBy(func(ctx context.Context, r, _ *rbacv1.Role) error {
				return a.mayWrite(ctx, "roles", r.Name, r.Rules)
			}),
		},
		&kind[rbacv1.ClusterRole, *rbacv1.ClusterRole]{
			names:          rbacNames("clusterroles", "clusterrole", true),
			newList:        func() runtime.Object { return &rbacv1.ClusterRoleList{} },
			defaults:       noDefaults[*rbacv1.ClusterRole],
			printer:        printers.ClusterRole,
			class:          rbac.Cluster,
			createOnUpdate: true,

			validate:       validation.ValidateClusterRole,
			validateUpdate: validation.ValidateClusterRoleUpdate,
			wrap: checkedBy(func(ctx context.Context, r, old *rbacv1.ClusterRole) error {
				rules := r.Rules
				if r.AggregationRule != nil || (old != nil && old.AggregationRule != nil) {
					// An aggregated role may get any rule later.
					rules = append(slices.Clone(rules), everything()...)
				}
				return a.mayWrite(ctx, "clusterroles", r.Name, rules)
			}),
		},
		&kind[rbacv1.RoleBinding, *rbacv1.RoleBinding]{
			names:          rbacNames("rolebindings", "rolebinding", false),
			newList:        func() runtime.Object { return &rbacv1.RoleBindingList{} },
			defaults:       defaults.RoleBinding,
			printer:        printers.RoleBinding,
			class:          rbac.Administrative,
			createOnUpdate: true,

			validate:       validation.ValidateRoleBinding,
			validateUpdate: validation.ValidateRoleBindingUpdate,
			wrap: checkedBy(func(ctx context.Context, b, _ *rbacv1.RoleBinding) error {
				return a.mayBind(ctx, b.RoleRef, b.Namespace)
			}),
		},
		&kind[rbacv1.ClusterRoleBinding, *rbacv1.ClusterRoleBinding]{
			names:          rbacNames("clusterrolebindings", "clusterrolebinding", true),
			newList:        func() runtime.Object { return &rbacv1.ClusterRoleBindingList{} },
			defaults:       defaults.ClusterRoleBinding,
			printer:        printers.ClusterRoleBinding,
			class:          rbac.Cluster,
			createOnUpdate: true,

			validate:       validation.ValidateClusterRoleBinding,
			validateUpdate: validation.ValidateClusterRoleBindingUpdate,
			wrap: checkedBy(func(ctx context.Context, b, _ *rbacv1.ClusterRoleBinding) error {
				return a.mayBind(ctx, b.RoleRef, metav1.NamespaceNone)
			}),
		},
	}
}

func rbacNames(plural, singular string, cluster bool) names {
	return names{group: rbacv1.GroupName, versions: v1, plural: plural, singular: singular, cluster: cluster}
}

// everything returns the rules of an administrator.
func everything() []rbacv1.PolicyRule {
	all := []string{"*"}
	return []rbacv1.PolicyRule{{Verbs: all, APIGroups: all, Resources: all}, {Verbs: all, NonResourceURLs: all}}
}

// mayWrite returns an error if the caller may not write a role with these rules: it lacks some of
// them, and the verb escalate.
func (a Access) mayWrite(ctx context.Context, resource, name string, rules []rbacv1.PolicyRule) error {
	who, master := caller(ctx)
	namespace := genericapirequest.NamespaceValue(ctx)
	if master ||
		a.mayDo(
			ctx, authorizer.AttributesRecord{User: who, Verb: "escalate", Resource: resource, Namespace: namespace, Name: name},
		) {
		return nil
	}
	lacks := a.Policy.Lacks(who, namespace, rules)
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf(
		"user %q may not write a role that allows what the user is not allowed, without the verb escalate:\n%s",
		who.GetName(),
		strings.Join(lacks, "\n"),
	)
}

// mayBind returns an error if the caller may not bind a role in namespace: it lacks some of its
// rules, and the verb bind.
func (a Access) mayBind(ctx context.Context, ref rbacv1.RoleRef, namespace string) error {
	who, master := caller(ctx)
	resource := "clusterroles"
	if ref.Kind == "Role" {
		resource = "roles"
	}
	if master ||
		a.mayDo(
			ctx, authorizer.AttributesRecord{User: who, Verb: "bind", Resource: resource, Namespace: namespace, Name: ref.Name},
		) {
		return nil
	}
	rules, ok := a.Policy.RulesOf(ref, namespace)
	if !ok {
		return fmt.Errorf("%s %q does not exist, and user %q may not bind it by name", ref.Kind, ref.Name, who.GetName())
	}
	lacks := a.Policy.Lacks(who, namespace, rules)
	if len(lacks) == 0 {
		return nil
	}
	return fmt.Errorf("user %q may not bind %s %q, which allows what the user is not allowed, without the verb bind:\n%s",
		who.GetName(), ref.Kind, ref.Name, strings.Join(lacks, "\n"))
}

// storedObject is an object of a storage.
type storedObject interface {
	runtime.Object
	metav1.Object
}

// checkedStorage is a storage that checks the final object of each write.
type checkedStorage[P storedObject] struct {
	*storage
	// allowed returns an error if an object may not be written; old is nil for a new object.
	allowed func(ctx context.Context, obj, old P) error
}

func checkedBy[P storedObject](allowed func(ctx context.Context, obj, old P) error) func(*storage) rest.Storage {
	return func(s *storage) rest.Storage { return &checkedStorage[P]{s, allowed} }
}

// Create implements rest.Creater.
func (s *checkedStorage[P]) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	var none P
	if err := s.check(ctx, obj.(P), none); err != nil {
		return nil, err
	}
	return s.storage.Create(ctx, obj, validate, options)
}

// Update implements rest.Updater.
func (s *checkedStorage[P]) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	info = rest.WrapUpdatedObjectInfo(info, func(ctx context.Context, obj, old runtime.Object) (runtime.Object, error) {
		if isGarbageCollection(obj.(P), old.(P)) {
			return obj, nil
		}
		return obj, s.check(ctx, obj.(P), old.(P))
	})
	return s.storage.Update(ctx, name, info, create, update, force, options)
}

func (s *checkedStorage[P]) check(ctx context.Context, obj, old P) error {
	if err := s.allowed(ctx, obj, old); err != nil {
		return apierrors.NewForbidden(schema.GroupResource{Group: rbacv1.GroupName, Resource: s.names.plural}, obj.GetName(),
			err)
	}
	return nil
}

// isGarbageCollection reports whether a change is only of owner references and finalizers, as by the garbage
// collector, which does not have the permissions that a role grants.
func isGarbageCollection[P storedObject](obj, old P) bool {
	if old.GetUID() == "" {
		return false // created by an update
	}
	same := obj.DeepCopyObject().(P)
	sameType(same, old)
	same.SetOwnerReferences(old.GetOwnerReferences())
	same.SetFinalizers(old.GetFinalizers())
	same.SetManagedFields(old.GetManagedFields())
	same.SetResourceVersion(old.GetResourceVersion())
	return apiequality.Semantic.DeepEqual(same, old)
}
