package validation

import (
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
)

// ValidateResourceClaimTemplate checks a new template.
func ValidateResourceClaimTemplate(template *resource.ResourceClaimTemplate) field.ErrorList {
	return claimTemplate(&template.ObjectMeta, namespaced, &template.Spec.ObjectMeta, &template.Spec.Spec)
}

// ValidateResourceClaimTemplateUpdate checks a change of a template. The spec is immutable, so that
// all claims of a template are alike.
func ValidateResourceClaimTemplateUpdate(template, old *resource.ResourceClaimTemplate) field.ErrorList {
	errs := metadataAgain(&template.ObjectMeta, &old.ObjectMeta, apivalidation.NameIsDNSSubdomain)
	if isUnchanged(template.Spec, old.Spec) {
		return errs
	}
	path := field.NewPath("spec")
	return join(errs,
		immutableField(path, template.Spec, old.Spec),
		copiedMetadata(path.Child("metadata"), &template.Spec.ObjectMeta),
		claimSpec(path.Child("spec"), &template.Spec.Spec),
	)
}

// ValidateClusterResourceClaimTemplate checks a new cluster-wide template.
func ValidateClusterResourceClaimTemplate(template *resourcev1alpha3.ClusterResourceClaimTemplate) field.ErrorList {
	return claimTemplate(&template.ObjectMeta, clusterScoped, &template.Spec.ObjectMeta, &template.Spec.Spec)
}

// ValidateClusterResourceClaimTemplateUpdate checks a change of a cluster-wide template.
func ValidateClusterResourceClaimTemplateUpdate(
	template, old *resourcev1alpha3.ClusterResourceClaimTemplate,
) field.ErrorList {
	return append(
		metadataUpdate(&template.ObjectMeta, &old.ObjectMeta),
		immutableField(field.NewPath("spec"), template.Spec, old.Spec)...)
}

// claimTemplate checks the metadata of a template, and the metadata and spec of its claims.
func claimTemplate(
	meta *metav1.ObjectMeta, in scope, copied *metav1.ObjectMeta, spec *resource.ResourceClaimSpec,
) field.ErrorList {
	path := field.NewPath("spec")
	return join(
		metadata(meta, in, apivalidation.NameIsDNSSubdomain),
		copiedMetadata(path.Child("metadata"), copied),
		claimSpec(path.Child("spec"), spec),
	)
}
