package validation

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateResourceQuota checks a new ResourceQuota.
func ValidateResourceQuota(q *corev1.ResourceQuota) field.ErrorList {
	return join(metadata(&q.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain), quotaSpec(&q.Spec))
}

// ValidateResourceQuotaUpdate checks a change of a ResourceQuota.
func ValidateResourceQuotaUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	scopes := func(q *corev1.ResourceQuota) []corev1.ResourceQuotaScope {
		return slices.Compact(slices.Sorted(slices.Values(q.Spec.Scopes)))
	}
	return join(
		metadataUpdate(&q.ObjectMeta, &old.ObjectMeta), quotaSpec(&q.Spec),
		check(slices.Equal(scopes(q), scopes(old)), field.NewPath("spec", "scopes"), q.Spec.Scopes, immutable),
	)
}

// ValidateResourceQuotaStatusUpdate checks what is reported about the use of a ResourceQuota.
func ValidateResourceQuotaStatusUpdate(q, old *corev1.ResourceQuota) field.ErrorList {
	path := field.NewPath("status")
	return join(
		metadataUpdate(&q.ObjectMeta, &old.ObjectMeta),
		quotaAmounts(path.Child("hard"), q.Status.Hard), quotaAmounts(path.Child("used"), q.Status.Used),
	)
}

func quotaSpec(spec *corev1.ResourceQuotaSpec) field.ErrorList {
	path := field.NewPath("spec")
	unknown := func(scope corev1.ResourceQuotaScope) bool { return countedInScope(scope) == nil }
	errs := join(
		quotaAmounts(path.Child("hard"), spec.Hard),
		check(!slices.ContainsFunc(spec.Scopes, unknown), path.Child("scopes"), spec.Scopes, "unsupported scope"),
		quotaScopes(path.Child("scopes"), spec.Scopes, spec.Hard),
	)
	if spec.ScopeSelector == nil {
		return errs
	}
	at := path.Child("scopeSelector", "matchExpressions")
	var selected []corev1.ResourceQuotaScope
	for _, e := range spec.ScopeSelector.MatchExpressions {
		selected = append(selected, e.ScopeName)
	}
	return join(errs, quotaScopes(at, selected, spec.Hard), each(at, spec.ScopeSelector.MatchExpressions,
		func(_ *field.Path, e *corev1.ScopedResourceSelectorRequirement) field.ErrorList {
			return scopeExpression(at, e)
		}))
}

// quotaScopes checks that scopes apply to what the quota counts, and that one object can be in all
// of them.
func quotaScopes(path *field.Path, scopes []corev1.ResourceQuotaScope, hard corev1.ResourceList) field.ErrorList {
	both := func(a, b corev1.ResourceQuotaScope) bool {
		return slices.Contains(scopes, a) && slices.Contains(scopes, b)
	}
	agree := !both(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) &&
		!both(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating)
	apply := true
	for _, scope := range scopes {
		counted := countedInScope(scope)
		for name := range hard {
			apply = apply && (counted == nil || !isQuotaResource(name) || slices.Contains(counted, name))
		}
	}
	return join(
		check(apply, path, scopes, "unsupported scope applied to resource"),
		check(agree, path, scopes, "conflicting scopes"),
	)
}

func quotaAmounts(path *field.Path, list corev1.ResourceList) field.ErrorList {
	var errs field.ErrorList
	for _, name := range sortedNames(list) {
		at := path.Key(string(name))
		errs = append(errs, resourceName(at, name)...)
		if !strings.Contains(string(name), "/") {
			errs = append(errs, check(isQuotaResource(name), at, name, "must be a standard resource for quota")...)
		}
		errs = append(errs, resourceQuantity(at, name, list[name])...)
	}
	return errs
}

// isQuotaResource reports whether a resource of Kubernetes' own can be in a quota.
func isQuotaResource(name corev1.ResourceName) bool {
	return standardResources().Has(name) && name != corev1.ResourceStorage || isHugePages(name) ||
		strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// countedInScope returns the resources of Kubernetes' own to which a scope applies; nil if there is
// no such scope.
func countedInScope(scope corev1.ResourceQuotaScope) []corev1.ResourceName {
	compute := []corev1.ResourceName{
		corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU,
		corev1.ResourceRequestsMemory,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
	}
	switch scope {
	case corev1.ResourceQuotaScopeTerminating,
		corev1.ResourceQuotaScopeNotTerminating,
		corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass,
		corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		return compute
	case corev1.ResourceQuotaScopeBestEffort:
		return compute[:1]
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		return []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
	}
	return nil
}

func scopeExpression(path *field.Path, e *corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	operator, values := path.Child("operator"), path.Child("values")
	known := countedInScope(e.ScopeName) != nil
	errs := check(known, path.Child("scopeName"), e.ScopeName, "unsupported scope")
	byClass := e.ScopeName == corev1.ResourceQuotaScopePriorityClass ||
		e.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	if known && !byClass {
		errs = append(errs, check(e.Operator == corev1.ScopeSelectorOpExists, operator, e.Operator,
			fmt.Sprintf("must be 'Exists' when scope is %s", e.ScopeName))...)
	}
	switch e.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(e.Values) == 0 {
			errs = append(errs,
				field.Required(values, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		errs = append(
			errs,
			check(len(e.Values) == 0, values, e.Values,
				"must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")...)
	default:
		errs = append(errs, field.Invalid(operator, e.Operator, "not a valid selector operator"))
	}
	return errs
}
