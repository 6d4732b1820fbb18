package validation

import (
	policyv1 "k8s.io/api/policy/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidatePodDisruptionBudget checks a new budget.
func ValidatePodDisruptionBudget(b *policyv1.PodDisruptionBudget) field.ErrorList {
	return orMetadata(budgetSpec(field.NewPath("spec"), &b.Spec),
		func() field.ErrorList { return objectMeta(&b.ObjectMeta, namespaced, pathName) })
}

// ValidatePodDisruptionBudgetUpdate checks a change of a budget.
func ValidatePodDisruptionBudgetUpdate(b, old *policyv1.PodDisruptionBudget) field.ErrorList {
	return append(objectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta), budgetSpec(field.NewPath("spec"), &b.Spec)...)
}

// ValidatePodDisruptionBudgetStatusUpdate checks the numbers that the controller reports.
func ValidatePodDisruptionBudgetStatusUpdate(b, old *policyv1.PodDisruptionBudget) field.ErrorList {
	path, s := field.NewPath("status"), &b.Status
	return join(
		objectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta),
		metav1validation.ValidateConditions(s.Conditions, path.Child("conditions")),
		nonNegative(path.Child("disruptionsAllowed"), s.DisruptionsAllowed),
		nonNegative(path.Child("currentHealthy"), s.CurrentHealthy),
		nonNegative(path.Child("desiredHealthy"), s.DesiredHealthy),
		nonNegative(path.Child("expectedPods"), s.ExpectedPods),
	)
}

func budgetSpec(path *field.Path, spec *policyv1.PodDisruptionBudgetSpec) field.ErrorList {
	var errs field.ErrorList
	if spec.MinAvailable != nil && spec.MaxUnavailable != nil {
		errs = append(errs,
			field.Invalid(path, field.OmitValueType{}, "`minAvailable` and `maxUnavailable` may not both be set"))
	}
	return join(
		errs,
		budgetShare(path.Child("minAvailable"), spec.MinAvailable),
		budgetShare(path.Child("maxUnavailable"), spec.MaxUnavailable),
		labelSelector(path.Child("selector"), spec.Selector),
		optionalSupported(path.Child("unhealthyPodEvictionPolicy"), spec.UnhealthyPodEvictionPolicy, policyv1.AlwaysAllow,
			policyv1.IfHealthyBudget),
	)
}

// budgetShare checks an optional number or percentage, at most 100%, of pods.
func budgetShare(path *field.Path, value *intstr.IntOrString) field.ErrorList {
	if value == nil {
		return nil
	}
	errs := intOrPercent(path, *value)
	if n, err := intstr.GetScaledValueFromIntOrPercent(value, 100, true); err == nil && value.Type == intstr.String {
		errs = append(errs, check(n <= 100, path, value.String(), "must not be greater than 100%")...)
	}
	return errs
}
