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

// rbacName checks the name of a role or binding: anything that can be a path segment, such as
// system:node.
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
	return join(metadata(&r.ObjectMeta, clusterScoped, rbacName), policyRules(r.Rules, clusterScoped),
		aggregation(r.AggregationRule))
}

// ValidateClusterRoleUpdate checks a change of a cluster role.
func ValidateClusterRoleUpdate(r, old *rbacv1.ClusterRole) field.ErrorList {
	return join(metadataUpdate(&r.ObjectMeta, &old.ObjectMeta), policyRules(r.Rules, clusterScoped),
		aggregation(r.AggregationRule))
}

func policyRules(rules []rbacv1.PolicyRule, in scope) field.ErrorList {
	return each(field.NewPath("rules"), rules, func(at *field.Path, rule *rbacv1.PolicyRule) field.ErrorList {
		return append(
			requiredUnless(len(rule.Verbs) > 0, at.Child("verbs"), "verbs must contain at least one value"),
			policyTarget(at, rule, in)...)
	})
}

// policyTarget checks that a rule has either resources or, outside namespaces, paths.
func policyTarget(at *field.Path, rule *rbacv1.PolicyRule, in scope) field.ErrorList {
	if len(rule.NonResourceURLs) == 0 {
		return append(
			requiredUnless(len(rule.APIGroups) > 0, at.Child("apiGroups"), "resource rules must supply at least one api group"),
			requiredUnless(len(rule.Resources) > 0, at.Child("resources"), "resource rules must supply at least one resource")...,
		)
	}
	path := at.Child("nonResourceURLs")
	return append(
		check(in != namespaced, path, rule.NonResourceURLs, "namespaced rules cannot apply to non-resource URLs"),
		check(len(rule.APIGroups)+len(rule.Resources)+len(rule.ResourceNames) == 0, path, rule.NonResourceURLs,
			"rules cannot apply to both regular resources and non-resource URLs")...,
	)
}

// requiredUnless returns an error for a missing value unless ok.
func requiredUnless(ok bool, path *field.Path, message string) field.ErrorList {
	if ok {
		return nil
	}
	return errorList(field.Required(path, message))
}

func aggregation(rule *rbacv1.AggregationRule) field.ErrorList {
	if rule == nil {
		return nil
	}
	path := field.NewPath("aggregationRule", "clusterRoleSelectors")
	errs := requiredUnless(len(rule.ClusterRoleSelectors) > 0, path,
		"at least one clusterRoleSelector required if aggregationRule is non-nil")
	for i := range rule.ClusterRoleSelectors {
		errs = append(
			errs,
			metav1validation.ValidateLabelSelector(&rule.ClusterRoleSelectors[i],
				metav1validation.LabelSelectorValidationOptions{}, path.Index(i))...)
		if _, err := metav1.LabelSelectorAsSelector(&rule.ClusterRoleSelectors[i]); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), field.OmitValueType{}, err.Error()))
		}
	}
	return errs
}

// ValidateRoleBinding checks a new RoleBinding.
func ValidateRoleBinding(b *rbacv1.RoleBinding) field.ErrorList {
	return join(metadata(&b.ObjectMeta, namespaced, rbacName), roleRef(&b.RoleRef, "ClusterRole", "Role"),
		rbacSubjects(b.Subjects, namespaced))
}

// ValidateRoleBindingUpdate checks a change of a binding. The role is immutable: a user that may
// change the subjects is not thereby allowed to grant another role.
func ValidateRoleBindingUpdate(b, old *rbacv1.RoleBinding) field.ErrorList {
	return join(metadataUpdate(&b.ObjectMeta, &old.ObjectMeta), roleRef(&b.RoleRef, "ClusterRole", "Role"),
		immutableField(field.NewPath("roleRef"), b.RoleRef, old.RoleRef), rbacSubjects(b.Subjects, namespaced))
}

// ValidateClusterRoleBinding checks a new ClusterRoleBinding.
func ValidateClusterRoleBinding(b *rbacv1.ClusterRoleBinding) field.ErrorList {
	return join(metadata(&b.ObjectMeta, clusterScoped, rbacName), roleRef(&b.RoleRef, "ClusterRole"),
		rbacSubjects(b.Subjects, clusterScoped))
}

// ValidateClusterRoleBindingUpdate checks a change of a binding. The role is immutable.
func ValidateClusterRoleBindingUpdate(b, old *rbacv1.ClusterRoleBinding) field.ErrorList {
	return join(metadataUpdate(&b.ObjectMeta, &old.ObjectMeta), roleRef(&b.RoleRef, "ClusterRole"),
		immutableField(field.NewPath("roleRef"), b.RoleRef, old.RoleRef), rbacSubjects(b.Subjects, clusterScoped))
}

func roleRef(ref *rbacv1.RoleRef, kinds ...string) field.ErrorList {
	path := field.NewPath("roleRef")
	errs := requiredForm(path.Child("name"), ref.Name, content.IsPathSegmentName)
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
			errs = requiredForm(at.Child("name"), s.Name,
				func(name string) []string { return apivalidation.ValidateServiceAccountName(name, false) })
			errs = append(
				errs,
				requiredUnless(in == namespaced || s.Namespace != "", at.Child("namespace"), "required for a service account")...)
		default:
			return append(
				errs,
				field.NotSupported(at.Child("kind"), s.Kind,
					[]string{rbacv1.GroupKind, rbacv1.ServiceAccountKind, rbacv1.UserKind}),
			)
		}
		if s.APIGroup != group {
			errs = append(errs, field.NotSupported(at.Child("apiGroup"), s.APIGroup, []string{group}))
		}
		return errs
	})
}
