package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// request has the attributes of a request that rules match.
type request struct {
	verb, group, resource, subresource, name string
	// combined is resource/subresource, as spelled in rules.
	combined string
	// path is the path of a request that is not for a resource.
	path       string
	noResource bool
}

func requestOf(a authorizer.Attributes) request {
	if !a.IsResourceRequest() {
		return request{verb: a.GetVerb(), path: a.GetPath(), noResource: true}
	}
	r := request{
		verb: a.GetVerb(), group: a.GetAPIGroup(), resource: a.GetResource(), subresource: a.GetSubresource(),
		name: a.GetName(),
	}
	r.combined = r.resource
	if r.subresource != "" {
		r.combined += "/" + r.subresource
	}
	return r
}

// allows reports whether one rule allows r.
func allows(rule *rbacv1.PolicyRule, r *request) bool {
	if !hasOr(rule.Verbs, rbacv1.VerbAll, r.verb) {
		return false
	}
	if r.noResource {
		return slices.ContainsFunc(rule.NonResourceURLs, func(pattern string) bool { return covers(pattern, r.path) })
	}
	return hasOr(rule.APIGroups, rbacv1.APIGroupAll, r.group) && r.isOneOf(rule.Resources) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.name))
}

// isOneOf reports whether resources has "*", the resource with its subresource, or "*/subresource".
func (r *request) isOneOf(resources []string) bool {
	if hasOr(resources, rbacv1.ResourceAll, r.combined) {
		return true
	}
	return r.subresource != "" && slices.ContainsFunc(resources, func(s string) bool {
		return strings.HasPrefix(s, "*/") && s[2:] == r.subresource
	})
}

func hasOr(list []string, all, one string) bool {
	for _, s := range list {
		if s == all || s == one {
			return true
		}
	}
	return false
}

// covers reports whether a pattern, which may end in a star, matches a path.
func covers(pattern, path string) bool {
	if prefix, ok := strings.CutSuffix(pattern, rbacv1.NonResourceAll); ok {
		return strings.HasPrefix(path, prefix)
	}
	return pattern == path
}
