package rbac

import (
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	typed "k8s.io/client-go/kubernetes/typed/rbac/v1"
	"k8s.io/component-helpers/auth/rbac/reconciliation"
)

// Ensure creates the roles of SystemRoles and the bindings that every server has, and adds missing
// rules, subjects and labels to existing ones. Additions by users stay; an object with the
// annotation rbac.authorization.kubernetes.io/autoupdate: "false" is not changed. Several servers
// may run it concurrently.
func Ensure(client typed.RbacV1Interface, roles []rbacv1.ClusterRole) error {
	modifier := firstRules{reconciliation.ClusterRoleModifier{Client: client.ClusterRoles()}, aggregatedSystemRules(roles)}
	for i := range roles {
		o := reconciliation.ReconcileRoleOptions{
			Role:    reconciliation.ClusterRoleRuleOwner{ClusterRole: &roles[i]},
			Client:  modifier,
			Confirm: true,
		}
		if _, err := o.Run(); err != nil {
			return fmt.Errorf("cluster role %s: %w", roles[i].Name, err)
		}
	}
	bindings := SystemBindings()
	for i := range bindings {
		o := reconciliation.ReconcileRoleBindingOptions{
			RoleBinding: reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &bindings[i]},
			Client:      reconciliation.ClusterRoleBindingClientAdapter{Client: client.ClusterRoleBindings()},
			Confirm:     true,
		}
		if _, err := o.Run(); err != nil {
			return fmt.Errorf("cluster role binding %s: %w", bindings[i].Name, err)
		}
	}
	return unbindNodes(client)
}

// nodeBinding is the name of the binding of the nodes' role.
const nodeBinding = "system:node"

// unbindNodes removes the group of nodes from the binding of their role, which earlier versions
// added. Only subjects that users add are bound to that role.
func unbindNodes(client typed.RbacV1Interface) error {
	ctx := context.Background()
	binding, err := client.ClusterRoleBindings().Get(ctx, nodeBinding, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("cluster role binding %s: %w", nodeBinding, err)
	}
	left := slices.DeleteFunc(slices.Clone(binding.Subjects), func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.GroupKind && s.Name == user.NodesGroup
	})
	if len(left) == len(binding.Subjects) || binding.Annotations[rbacv1.AutoUpdateAnnotationKey] == "false" {
		return nil
	}
	binding.Subjects = left
	if _, err := client.ClusterRoleBindings().Update(ctx, binding, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("cluster role binding %s: %w", nodeBinding, err)
	}
	return nil
}

// firstRules sets the rules of aggregated roles when they are created, so that they are effective
// from the start. Existing ones are left to the aggregation, which respects changes by users.
type firstRules struct {
	reconciliation.ClusterRoleModifier
	rules map[string][]rbacv1.PolicyRule
}

// Create implements reconciliation.RuleOwnerModifier.
func (f firstRules) Create(in reconciliation.RuleOwner) (reconciliation.RuleOwner, error) {
	if rules, ok := f.rules[in.GetName()]; ok {
		in = in.DeepCopyRuleOwner()
		in.SetRules(rules)
	}
	return f.ClusterRoleModifier.Create(in)
}

// aggregatedSystemRules returns the rules of the aggregated roles among roles, by name.
func aggregatedSystemRules(roles []rbacv1.ClusterRole) map[string][]rbacv1.PolicyRule {
	all := make([]*rbacv1.ClusterRole, len(roles))
	for i := range roles {
		all[i] = &roles[i]
	}
	gathered, _ := AggregatedRules(all) // the selectors are constants of this package and valid
	return gathered
}
