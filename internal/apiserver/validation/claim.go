package validation

import (
	resourcev1 "k8s.io/api/resource/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// ValidateResourceClaim checks a new ResourceClaim.
func ValidateResourceClaim(claim *resource.ResourceClaim) field.ErrorList {
	return append(
		metadata(&claim.ObjectMeta, namespaced, apivalidation.NameIsDNSSubdomain),
		claimSpec(field.NewPath("spec"), &claim.Spec)...)
}

// ValidateResourceClaimUpdate checks a change of a claim. The spec is immutable.
func ValidateResourceClaimUpdate(claim, old *resource.ResourceClaim) field.ErrorList {
	return join(
		metadataAgain(&claim.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain),
		immutableField(field.NewPath("spec"), claim.Spec, old.Spec),
	)
}

// claimSpec checks the spec of a claim or of a template's claims.
func claimSpec(path *field.Path, spec *resource.ResourceClaimSpec) field.ErrorList {
	errs := append(declared(resourcev1.Validate_ResourceClaimSpec, path, &spec.ResourceClaimSpec, nil),
		deviceClaim(path.Child("devices"), &spec.Devices)...)
	if spec.ReservedFor != nil {
		errs = append(errs, consumer(path.Child("reservedFor"), spec.ReservedFor)...)
	}
	return errs
}

func consumer(path *field.Path, ref *resourcev1.ResourceClaimConsumerReference) field.ErrorList {
	return join(
		required(path.Child("resource"), ref.Resource),
		required(path.Child("name"), ref.Name),
		required(path.Child("uid"), string(ref.UID)),
	)
}
