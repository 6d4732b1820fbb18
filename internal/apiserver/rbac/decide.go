package rbac

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/component-helpers/auth/rbac/validation"
)

var _ authorizer.UnconditionalAuthorizer = &Policy{}

// Authorize allows a request that a rule allows, with the binding as the reason. Otherwise it has
// no opinion, and the reason names missing roles to which bindings of the user refer.
func (p *Policy) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	who := a.GetUser()
	if who == nil {
		return authorizer.DecisionNoOpinion, "", nil
	}
	r := requestOf(a)
	allowed := ""
	var missing []string
	p.mu.RLock()
	defer p.mu.RUnlock()
	p.visitGrants(who, a.GetNamespace(), func(g *grant) bool {
		rules, ok := p.roles[g.role]
		if !ok {
			missing = append(missing, g.reason+", but there is no such role")
		}
		for i := range rules {
			if allows(&rules[i], &r) {
				allowed = g.reason
				return false
			}
		}
		return true
	})
	if allowed != "" {
		return authorizer.DecisionAllow, allowed, nil
	}
	return authorizer.DecisionNoOpinion, strings.Join(missing, "; "), nil
}

// visitGrants calls f with the grants of a user that apply in namespace, until it returns false.
// The lock must be held.
func (p *Policy) visitGrants(who user.Info, namespace string, f func(*grant) bool) {
	if !p.visitSubject(subject{name: who.GetName()}, namespace, f) {
		return
	}
	for _, group := range who.GetGroups() {
		if !p.visitSubject(subject{group: true, name: group}, namespace, f) {
			return
		}
	}
}

func (p *Policy) visitSubject(s subject, namespace string, f func(*grant) bool) bool {
	in, ok := p.grants[s]
	if !ok {
		return true
	}
	for i := range in[""] {
		if !f(&in[""][i]) {
			return false
		}
	}
	if namespace == "" {
		return true
	}
	for i := range in[namespace] {
		if !f(&in[namespace][i]) {
			return false
		}
	}
	return true
}

// Rules returns all rules that apply to a user in namespace, including cluster-wide ones.
func (p *Policy) Rules(who user.Info, namespace string) []rbacv1.PolicyRule {
	p.mu.RLock()
	defer p.mu.RUnlock()
	var out []rbacv1.PolicyRule
	p.visitGrants(who, namespace, func(g *grant) bool {
		out = append(out, p.roles[g.role]...)
		return true
	})
	return out
}

// RulesOf returns the rules of the role to which a binding in namespace refers; ok is false if the
// role does not exist.
func (p *Policy) RulesOf(ref rbacv1.RoleRef, namespace string) (rules []rbacv1.PolicyRule, ok bool) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	rules, ok = p.roles[roleOf(ref, namespace)]
	return rules, ok
}

// Lacks returns descriptions of those rules that a user does not have in namespace. It is empty if
// the user has all of them.
func (p *Policy) Lacks(who user.Info, namespace string, rules []rbacv1.PolicyRule) []string {
	_, missing := validation.Covers(p.Rules(who, namespace), rules)
	var out []string
	for _, m := range merged(missing) {
		out = append(out, describe(&m))
	}
	return out
}

// merged joins rules that differ only in one verb.
func merged(rules []rbacv1.PolicyRule) []rbacv1.PolicyRule {
	var out []rbacv1.PolicyRule
	at := map[string]int{}
	for _, r := range rules {
		key := fmt.Sprintf("%q %q %q %q", r.APIGroups, r.Resources, r.ResourceNames, r.NonResourceURLs)
		i, ok := at[key]
		if !ok {
			at[key] = len(out)
			out = append(out, r)
			continue
		}
		for _, v := range r.Verbs {
			if !slices.Contains(out[i].Verbs, v) {
				out[i].Verbs = append(slices.Clip(out[i].Verbs), v)
			}
		}
	}
	return out
}

// describe returns a short description of a rule: "get,list pods.apps (named a,b)".
func describe(r *rbacv1.PolicyRule) string {
	verbs := strings.Join(r.Verbs, ",")
	if len(r.NonResourceURLs) > 0 {
		return verbs + " " + strings.Join(r.NonResourceURLs, ",")
	}
	var resources []string
	for _, group := range r.APIGroups {
		for _, resource := range r.Resources {
			name, sub, hasSub := strings.Cut(resource, "/")
			if group != "" {
				name += "." + group
			}
			if hasSub {
				name += "/" + sub
			}
			resources = append(resources, name)
		}
	}
	out := verbs + " " + strings.Join(resources, ",")
	if len(r.ResourceNames) > 0 {
		out += " (named " + strings.Join(r.ResourceNames, ",") + ")"
	}
	return out
}
