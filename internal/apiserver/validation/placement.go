package validation

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	placementv1alpha2 "github.com/allot-dev/allot/api/placement/v1alpha2"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// ValidatePlacement checks a request to bind the pods of a plan. Whether they can be bound is
// checked where that is known.
func ValidatePlacement(p *placementv1alpha2.Placement) field.ErrorList {
	path := field.NewPath("spec", "pods")
	switch n := len(p.Spec.Pods); {
	case n == 0:
		return field.ErrorList{field.Required(path, "")}
	case n > placementv1alpha2.MaxPods:
		return field.ErrorList{field.TooMany(path, n, placementv1alpha2.MaxPods)}
	}
	errs := placementClaims(field.NewPath("spec", "claims"), p.Spec.Claims)
	seen := make(map[string]bool, len(p.Spec.Pods))
	for i := range p.Spec.Pods {
		pod, at := &p.Spec.Pods[i], path.Index(i)
		errs = append(errs, dnsSubdomain(at.Child("name"), pod.Name)...)
		errs = append(errs, dnsSubdomain(at.Child("nodeName"), pod.NodeName)...)
		if seen[pod.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), pod.Name))
		}
		seen[pod.Name] = true
	}
	return errs
}

// placementClaims checks what is required of the claims of a Placement beyond the rules for claims.
func placementClaims(path *field.Path, claims []resource.ResourceClaim) field.ErrorList {
	if len(claims) > placementv1alpha2.MaxClaims {
		return field.ErrorList{field.TooMany(path, len(claims), placementv1alpha2.MaxClaims)}
	}
	var errs field.ErrorList
	seen := make(map[string]bool, len(claims))
	for i := range claims {
		claim, at := &claims[i], path.Index(i)
		errs = append(errs, dnsSubdomain(at.Child("metadata", "name"), claim.Name)...)
		if seen[claim.Name] {
			errs = append(errs, field.Duplicate(at.Child("metadata", "name"), claim.Name))
		}
		seen[claim.Name] = true
		if claim.Status.Allocation == nil {
			errs = append(errs, field.Required(at.Child("status", "allocation"), "a placement creates claims with devices"))
		}
		if metav1.GetControllerOfNoCopy(claim) == nil {
			errs = append(errs, field.Required(at.Child("metadata", "ownerReferences"), "a controller, for which the claim is"))
		}
	}
	return errs
}
