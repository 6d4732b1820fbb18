package validation

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// staticSuffix ends the names of configurations that a Kubernetes API server reads from files.
const staticSuffix = ".static.k8s.io"

// admissionName checks the name of a webhook configuration, a policy or a binding.
func admissionName(name string, prefix bool) []string {
	messages := apivalidation.NameIsDNSSubdomain(name, prefix)
	if strings.HasSuffix(name, staticSuffix) {
		messages = append(messages, fmt.Sprintf(
			"names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API",
			staticSuffix,
		))
	}
	return messages
}

// admissionRule checks which operations on which resources a webhook or a policy is for.
func admissionRule(path *field.Path, r *admissionregistrationv1.RuleWithOperations) field.ErrorList {
	errs := join(
		wildcardAlone(path.Child("operations"), r.Operations, admissionregistrationv1.OperationAll, "operations"),
		each(
			path.Child("operations"),
			r.Operations,
			func(at *field.Path, operation *admissionregistrationv1.OperationType) field.ErrorList {
				return supported(at, *operation, "*", "CONNECT", "CREATE", "DELETE", "UPDATE")
			},
		),
		wildcardAlone(path.Child("apiGroups"), r.APIGroups, "*", "API groups"),
		wildcardAlone(path.Child("apiVersions"), r.APIVersions, "*", "API versions"),
		each(path.Child("apiVersions"), r.APIVersions,
			func(at *field.Path, version *string) field.ErrorList { return required(at, *version) }),
		admissionResources(path.Child("resources"), r.Resources),
	)
	if r.Scope != nil {
		errs = append(errs, supported(path.Child("scope"), *r.Scope,
			admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope)...)
	}
	return errs
}

// wildcardAlone checks a list that has at least one value, and only the wildcard if it has that.
func wildcardAlone[T ~string](path *field.Path, values []T, wildcard T, noun string) field.ErrorList {
	if len(values) == 0 {
		return errorList(field.Required(path, ""))
	}
	alone := len(values) == 1 || !slices.Contains(values, wildcard)
	return check(alone, path, values, "if '*' is present, must not specify other "+noun)
}

// admissionResources checks resources and subresources, of which none may be covered by another.
func admissionResources(path *field.Path, resources []string) field.ErrorList {
	if len(resources) == 0 {
		return errorList(field.Required(path, ""))
	}
	allSubresources, everywhere := map[string]bool{}, map[string]bool{} // x/* by x, */x by x
	plain := false
	errs := each(path, resources, func(at *field.Path, text *string) field.ErrorList {
		resource, sub, both := strings.Cut(*text, "/")
		switch {
		case *text == "":
			return errorList(field.Required(at, ""))
		case !both:
			plain = *text != "*"
			return nil
		}
		errs := join(
			check(!allSubresources[resource], at, *text, "if '"+resource+"/*' is present, must not specify "+*text),
			check(!everywhere[sub], at, *text, "if '*/"+sub+"' is present, must not specify "+*text),
		)
		allSubresources[resource] = allSubresources[resource] || sub == "*"
		everywhere[sub] = everywhere[sub] || resource == "*"
		return errs
	})
	return join(
		errs,
		check(len(resources) == 1 || !slices.Contains(resources, "*/*"), path, resources,
			"if '*/*' is present, must not specify other resources"),
		check(!plain || !slices.Contains(resources, "*"), path, resources,
			"if '*' is present, must not specify other resources without subresources"),
	)
}

// matchResources checks what a policy or a binding is for; nil matches everything.
func matchResources(path *field.Path, m *admissionregistrationv1.MatchResources) field.ErrorList {
	if m == nil {
		return nil
	}
	return join(
		requiredPointer(
			path.Child("matchPolicy"),
			m.MatchPolicy,
			func(at *field.Path, policy admissionregistrationv1.MatchPolicyType) field.ErrorList {
				return supported(at, policy, admissionregistrationv1.Equivalent, admissionregistrationv1.Exact)
			},
		),
		requiredPointer(path.Child("namespaceSelector"), m.NamespaceSelector, strictSelector),
		requiredPointer(path.Child("objectSelector"), m.ObjectSelector, strictSelector),
		each(path.Child("resourceRules"), m.ResourceRules, namedRule),
		each(path.Child("excludeResourceRules"), m.ExcludeResourceRules, namedRule),
	)
}

// requiredPointer applies a rule to a value that must be set.
func requiredPointer[T any](
	path *field.Path, value *T, rule func(path *field.Path, value T) field.ErrorList,
) field.ErrorList {
	if value == nil {
		return errorList(field.Required(path, ""))
	}
	return rule(path, *value)
}

func strictSelector(path *field.Path, selector metav1.LabelSelector) field.ErrorList {
	return metav1validation.ValidateLabelSelector(&selector, metav1validation.LabelSelectorValidationOptions{}, path)
}

func namedRule(path *field.Path, r *admissionregistrationv1.NamedRuleWithOperations) field.ErrorList {
	names := path.Child("resourceNames")
	return join(
		each(names, r.ResourceNames, func(at *field.Path, name *string) field.ErrorList {
			return wellFormed(at, *name, content.IsPathSegmentName)
		}),
		distinct(names, r.ResourceNames, "", func(name *string) string { return *name }),
		admissionRule(path, &r.RuleWithOperations),
	)
}
