package validation

import (
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
)

// ValidateCompositePodGroup checks a new CompositePodGroup (R57). The rules for upstream's fields are
// upstream's; claims of trees are allot's.
func ValidateCompositePodGroup(group *v1alpha3.CompositePodGroup) field.ErrorList {
	return join(
		metadata(&group.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		declared(schedulingv1alpha3.Validate_CompositePodGroup, nil, group.Upstream(), nil),
		groupClaims(field.NewPath("spec", "resourceClaims"), group.Spec.ResourceClaims),
	)
}

// ValidateCompositePodGroupUpdate checks a change of a CompositePodGroup. In 1.37 all of the spec is
// immutable, and so are the claims.
func ValidateCompositePodGroupUpdate(group, old *v1alpha3.CompositePodGroup) field.ErrorList {
	return join(
		metadataUpdate(&group.ObjectMeta, &old.ObjectMeta),
		declared(schedulingv1alpha3.Validate_CompositePodGroup, nil, group.Upstream(), old.Upstream()),
		immutableField(field.NewPath("spec", "resourceClaims"), group.Spec.ResourceClaims, old.Spec.ResourceClaims),
	)
}

// ValidateCompositePodGroupStatusUpdate checks the status that the scheduler reports.
func ValidateCompositePodGroupStatusUpdate(group, old *v1alpha3.CompositePodGroup) field.ErrorList {
	return join(
		metadataUpdate(&group.ObjectMeta, &old.ObjectMeta),
		metav1validation.ValidateConditions(group.Status.Conditions, field.NewPath("status", "conditions")),
		groupClaimStatuses(field.NewPath("status", "resourceClaimStatuses"), group.Status.ResourceClaimStatuses,
			group.Spec.ResourceClaims),
	)
}
