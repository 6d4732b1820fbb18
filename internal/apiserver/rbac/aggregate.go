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

// Aggregated are the rules that role gathers from all, each once, in the order of the roles' names. The order does not
// depend on that of all, so that several servers write the same. It is an error if a selector is not one.
func Aggregated(role *rbacv1.ClusterRole, all []*rbacv1.ClusterRole) ([]rbacv1.PolicyRule, error) {
	sources := slices.SortedFunc(slices.Values(all), func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
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
				if !slices.ContainsFunc(out, func(have rbacv1.PolicyRule) bool { return apiequality.Semantic.DeepEqual(have, rule) }) {
					out = append(out, rule)
				}
			}
		}
	}
	return out, nil
}

// Gathered are the rules of those of all that gather rules, by their names. A role may gather others that gather, even
// itself through them: it has what is written down in roles that gather nothing, and what roles with a selector that is
// none have stored. Rules that only go round in a circle are nobody's, and so the result depends on nothing that is to be
// overwritten by it.
func Gathered(all []*rbacv1.ClusterRole) (map[string][]rbacv1.PolicyRule, error) {
	var failed []error
	var gathering []*rbacv1.ClusterRole
	roles := slices.SortedFunc(slices.Values(all), func(a, b *rbacv1.ClusterRole) int { return strings.Compare(a.Name, b.Name) })
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
			// The selectors have been tried above. What a role gathers only grows from one round to the next.
			rules, _ := Aggregated(role, roles)
			if len(rules) != len(role.Rules) {
				role.Rules, settled = rules, false
			}
			out[role.Name] = role.Rules
		}
	}
	return out, errors.Join(failed...)
}
