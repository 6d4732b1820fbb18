package validation

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateCompositePodGroup checks a new CompositePodGroup (R57). All fields are upstream's, and so
// are the rules for them.
func ValidateCompositePodGroup(group *schedulingv1alpha3.CompositePodGroup) field.ErrorList {
	return join(
		metadata(&group.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		declared(schedulingv1alpha3.Validate_CompositePodGroup, nil, group, nil),
	)
}

// ValidateCompositePodGroupUpdate checks a change of a CompositePodGroup. In 1.37 all of the spec is
// immutable.
func ValidateCompositePodGroupUpdate(group, old *schedulingv1alpha3.CompositePodGroup) field.ErrorList {
	return join(
		metadataUpdate(&group.ObjectMeta, &old.ObjectMeta),
		declared(schedulingv1alpha3.Validate_CompositePodGroup, nil, group, old),
	)
}

// ValidateCompositePodGroupStatusUpdate checks the status that the scheduler reports.
func ValidateCompositePodGroupStatusUpdate(group, old *schedulingv1alpha3.CompositePodGroup) field.ErrorList {
	return join(
		metadataUpdate(&group.ObjectMeta, &old.ObjectMeta),
		metav1validation.ValidateConditions(group.Status.Conditions, field.NewPath("status", "conditions")),
	)
}
