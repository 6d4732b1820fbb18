package validation

import (
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// rbacName is what roles and bindings may be called: anything that can be a part of a path, as in system:node.
func rbacName(name string, _ bool) []string { return content.IsPathSegmentName(name) }

// ValidateRole checks a new Role.
func ValidateRole(r *rbacv1.Role) field.ErrorList {
	return append(metadata(&r.ObjectMeta, namespaced, rbacName), policyRules(r.Rules, namespaced)...)
}

// ValidateRoleUpdate checks a change of a role.
func ValidateRoleUpdate(r, old *rbacv1.Role) field.ErrorList {
	return append(metadataUpdate(&r.ObjectMeta, &old.ObjectMeta), policyRules(r.Rules, namespaced)...)
}

// ValidateClusterRole checks a new ClusterRole.
func ValidateClusterRole(r *rbacv1.ClusterRole) field.ErrorList {
	return join(metadata(&r.ObjectMeta, clusterScoped, rbacName), policyRules(r.Rules, clusterScoped), aggregation(r.AggregationRule))
}

// ValidateClusterRoleUpdate checks a change of a cluster role.
func ValidateClusterRoleUpdate(r, old *rbacv1.ClusterRole) field.ErrorList {
	return join(metadataUpdate(&r.ObjectMeta, &old.ObjectMeta), policyRules(r.Rules, clusterScoped), aggregation(r.AggregationRule))
}

func policyRules(rules []rbacv1.PolicyRule, in scope) field.ErrorList {
	return each(field.NewPath("rules"), rules, func(at *field.Path, rule *rbacv1.PolicyRule) field.ErrorList {
		return append(wanted(len(rule.Verbs) > 0, at.Child("verbs"), "a rule has at least one verb"), policyTarget(at, rule, in)...)
	})
}

// policyTarget wants resources, or paths outside of namespaces, and not both.
func policyTarget(at *field.Path, rule *rbacv1.PolicyRule, in scope) field.ErrorList {
	if len(rule.NonResourceURLs) == 0 {
		return append(
			wanted(len(rule.APIGroups) > 0, at.Child("apiGroups"), "a rule for resources has at least one API group"),
			wanted(len(rule.Resources) > 0, at.Child("resources"), "a rule for resources has at least one resource")...,
		)
	}
	path := at.Child("nonResourceURLs")
	return append(
		check(in != namespaced, path, rule.NonResourceURLs, "no path is in a namespace: only a ClusterRole may allow paths"),
		check(len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) == 0, path, rule.NonResourceURLs,
			"a rule is for resources or for paths, not for both")...,
	)
}

// wanted is an error unless ok.
func wanted(ok bool, path *field.Path, message string) field.ErrorList {
	if ok {
		return nil
	}
	return one(field.Required(path, message))
}

func aggregation(rule *rbacv1.AggregationRule) field.ErrorList {
	if rule == nil {
		return nil
	}
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	errs := wanted(len(rule.ClusterRoleSelectors) > 0, path, "an aggregation rule has at least one selector")
	for i := range rule.ClusterRoleSelectors {
		errs = append(errs, metav1validation.ValidateLabelSelector(&rule.ClusterRoleSelectors[i], metav1validation.LabelSelectorValidationOptions{}, path.Index(i))...)
		if _, err := metav1.LabelSelectorAsSelector(&rule.ClusterRoleSelectors[i]); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), field.OmitValueType{}, err.Error()))
		}
	}
	return errs
}

// ValidateRoleBinding checks a new RoleBinding.
func ValidateRoleBinding(b *rbacv1.RoleBinding) field.ErrorList {
	return join(metadata(&b.ObjectMeta, namespaced, rbacName), roleRef(&b.RoleRef, "ClusterRole", "Role"), rbacSubjects(b.Subjects, namespaced))
}

// ValidateRoleBindingUpdate checks a change of a binding, which keeps its role: whoever may change the subjects has not
// thereby been allowed to hand out another role.
func ValidateRoleBindingUpdate(b, old *rbacv1.RoleBinding) field.ErrorList {
	return join(metadataUpdate(&b.ObjectMeta, &old.ObjectMeta), roleRef(&b.RoleRef, "ClusterRole", "Role"),
		same(field.NewPath("roleRef"), b.RoleRef, old.RoleRef), rbacSubjects(b.Subjects, namespaced))
}

// ValidateClusterRoleBinding checks a new ClusterRoleBinding.
func ValidateClusterRoleBinding(b *rbacv1.ClusterRoleBinding) field.ErrorList {
	return join(metadata(&b.ObjectMeta, clusterScoped, rbacName), roleRef(&b.RoleRef, "ClusterRole"), rbacSubjects(b.Subjects, clusterScoped))
}

// ValidateClusterRoleBindingUpdate checks a change of a binding, which keeps its role.
func ValidateClusterRoleBindingUpdate(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	return join(metadataUpdate(&b.ObjectMeta, &old.ObjectMeta), roleRef(&b.RoleRef, "ClusterRole"),
		same(field.NewPath("roleRef"), b.RoleRef, old.RoleRef), rbacSubjects(b.Subjects, clusterScoped))
}

func roleRef(ref *rbacv1.RoleRef, kinds ...string) field.ErrorList {
	path := field.NewPath("roleRef")
	errs := form(path.Child("name"), ref.Name, content.IsPathSegmentName)
	if ref.APIGroup != rbacv1.GroupName {
		errs = append(errs, field.NotSupported(path.Child("apiGroup"), ref.APIGroup, []string{rbacv1.GroupName}))
	}
	if !slices.Contains(kinds, ref.Kind) {
		errs = append(errs, field.NotSupported(path.Child("kind"), ref.Kind, kinds))
	}
	return errs
}

func rbacSubjects(subjects []rbacv1.Subject, in scope) field.ErrorList {
	return each(field.NewPath("subjects"), subjects, func(at *field.Path, s *rbacv1.Subject) field.ErrorList {
		errs := required(at.Child("name"), s.Name)
		group := rbacv1.GroupName
		switch s.Kind {
		case rbacv1.UserKind, rbacv1.GroupKind:
		case rbacv1.ServiceAccountKind:
			group = ""
			errs = form(at.Child("name"), s.Name, func(name string) []string { return apivalidation.ValidateServiceAccountName(name, false) })
			errs = append(errs, wanted(in == namespaced || s.Namespace != "", at.Child("namespace"), "a service account has a namespace")...)
		default:
			return append(errs, field.NotSupported(at.Child("kind"), s.Kind, []string{rbacv1.GroupKind, rbacv1.ServiceAccountKind, rbacv1.UserKind}))
		}
		if s.APIGroup != group {
			errs = append(errs, field.NotSupported(at.Child("apiGroup"), s.APIGroup, []string{group}))
		}
		return errs
	})
}
