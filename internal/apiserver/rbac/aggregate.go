package rbac

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// Aggregated returns the rules that role aggregates from all, without duplicates, sorted by the
// names of the roles. The result does not depend on the order of all, so that several servers write
// the same. An invalid selector is an error.
func Aggregated(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	sources := slices.SortedFunc(slices.Values(all),
		func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	out := []rbacv1.PolicyRule{}
	for i := range role.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&role.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return nil, fmt.Errorf("cluster role %s: selector %d: %w", role.Name, i, err)
		}
		for _, source := range sources {
			if source.Name == role.Name || !selector.Matches(labels.Set(source.Labels)) {
				continue
			}
			for _, rule := range source.Rules {
				if !slices.ContainsFunc(
					out, func(have rbacv1.PolicyRule) bool { return apiequality.Semantic.DeepEqual(have, rule) },
				) {
					out = append(out, rule)
				}
			}
		}
	}
	return out, nil
}

// AggregatedRules returns the rules of all aggregating roles, by name. A role may aggregate other
// aggregating roles, and even itself through them. Rules originate only from roles that do not
// aggregate, and from the stored rules of roles with an invalid selector. Rules that would only
// come from a cycle are dropped, so that the result does not depend on the stored rules which it
// replaces.
func AggregatedRules(all []*rbacv1.ClusterRole) (map[string][]rbacv1.PolicyRule, error) {
	var failed []error
	var gathering []*rbacv1.ClusterRole
	roles := slices.SortedFunc(slices.Values(all),
		func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
	for i, role := range roles {
		if role.AggregationRule == nil {
			continue
		}
		if _, err := Aggregated(role, nil); err != nil {
			failed = append(failed, err)
			continue
		}
		empty := *role
		empty.Rules = []rbacv1.PolicyRule{}
		roles[i] = &empty
		gathering = append(gathering, &empty)
	}
	out := map[string][]rbacv1.PolicyRule{}
	for settled := false; !settled; {
		settled = true
		for _, role := range gathering {
			// The selectors have been validated above. The rules of a role only grow from one round
			// to the next.
			rules, _ := Aggregated(role, roles)
			if len(rules) != len(role.Rules) {
				role.Rules, settled = rules, false
			}
			out[role.Name] = role.Rules
		}
	}
	return out, errors.Join(failed...)
}
