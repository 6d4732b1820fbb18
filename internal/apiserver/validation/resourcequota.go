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
	scopes, fault := path.Child("scopes"), func(at *field.Path, message string) *field.Error { return field.Invalid(at, spec.Scopes, message) }
	errs := quotaAmounts(path.Child("hard"), spec.Hard)
	for _, scope := range spec.Scopes {
		errs = append(errs, scopeOf(scope, spec.Hard, fault(scopes, "unsupported scope"), fault(scopes, "unsupported scope applied to resource"))...)
	}
	errs = append(errs, scopesAgree(spec.Scopes, fault(scopes, "conflicting scopes"))...)
	if spec.ScopeSelector == nil {
		return errs
	}
	at := path.Child("scopeSelector", "matchExpressions")
	var selected []corev1.ResourceQuotaScope
	for i := range spec.ScopeSelector.MatchExpressions {
		e := &spec.ScopeSelector.MatchExpressions[i]
		selected = append(selected, e.ScopeName)
		errs = append(errs, scopeOf(e.ScopeName, spec.Hard,
			field.Invalid(at.Child("scopeName"), e.ScopeName, "unsupported scope"), fault(at, "unsupported scope applied to resource"))...)
		errs = append(errs, scopeExpression(at, e)...)
	}
	return append(errs, scopesAgree(selected, fault(at, "conflicting scopes"))...)
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

// scopeOf checks that a scope is known, and for what the quota counts.
func scopeOf(scope corev1.ResourceQuotaScope, hard corev1.ResourceList, unknown, misapplied *field.Error) field.ErrorList {
	compute := []corev1.ResourceName{
		corev1.ResourcePods, corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory,
	}
	var counted []corev1.ResourceName
	switch scope {
	case corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity:
		counted = compute
	case corev1.ResourceQuotaScopeBestEffort:
		counted = compute[:1]
	case corev1.ResourceQuotaScopeVolumeAttributesClass:
		counted = []corev1.ResourceName{corev1.ResourcePersistentVolumeClaims, corev1.ResourceRequestsStorage}
	default:
		return one(unknown)
	}
	for name := range hard {
		if isQuotaResource(name) && !slices.Contains(counted, name) {
			return one(misapplied)
		}
	}
	return nil
}

func scopesAgree(scopes []corev1.ResourceQuotaScope, conflict *field.Error) field.ErrorList {
	both := func(a, b corev1.ResourceQuotaScope) bool {
		return slices.Contains(scopes, a) && slices.Contains(scopes, b)
	}
	if both(corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort) ||
		both(corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating) {
		return one(conflict)
	}
	return nil
}

func scopeExpression(path *field.Path, e *corev1.ScopedResourceSelectorRequirement) field.ErrorList {
	operator, values := path.Child("operator"), path.Child("values")
	var errs field.ErrorList
	byClass := e.ScopeName == corev1.ResourceQuotaScopePriorityClass || e.ScopeName == corev1.ResourceQuotaScopeVolumeAttributesClass
	if !byClass {
		errs = append(errs, check(e.Operator == corev1.ScopeSelectorOpExists, operator, e.Operator,
			fmt.Sprintf("must be 'Exists' when scope is %s", e.ScopeName))...)
	}
	switch e.Operator {
	case corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn:
		if len(e.Values) == 0 {
			errs = append(errs, field.Required(values, "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"))
		}
	case corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist:
		errs = append(errs, check(len(e.Values) == 0, values, e.Values, "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector")...)
	default:
		errs = append(errs, field.Invalid(operator, e.Operator, "not a valid selector operator"))
	}
	return errs
}
