package validation

import (
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateSelfSubjectAccessReview checks a review of the requester's own permissions.
func ValidateSelfSubjectAccessReview(r *authorizationv1.SelfSubjectAccessReview) field.ErrorList {
	return append(noMetadata(r.ObjectMeta), accessAttributes(r.Spec.ResourceAttributes, r.Spec.NonResourceAttributes)...)
}

// ValidateSubjectAccessReview checks a review of any subject's permissions.
func ValidateSubjectAccessReview(r *authorizationv1.SubjectAccessReview) field.ErrorList {
	return append(noMetadata(r.ObjectMeta), accessSpec(&r.Spec)...)
}

// ValidateLocalSubjectAccessReview checks a review of any subject's permissions in the namespace of
// the request.
func ValidateLocalSubjectAccessReview(r *authorizationv1.LocalSubjectAccessReview, namespace string) field.ErrorList {
	meta := r.ObjectMeta
	meta.Namespace = ""
	errs := append(noMetadata(meta), accessSpec(&r.Spec)...)
	path := field.NewPath("spec")
	if r.Spec.NonResourceAttributes != nil {
		errs = append(errs, field.Forbidden(path.Child("nonResourceAttributes"), "disallowed on this kind of request"))
	}
	if a := r.Spec.ResourceAttributes; a != nil && a.Namespace != namespace {
		errs = append(errs,
			field.Invalid(path.Child("resourceAttributes", "namespace"), a.Namespace, "must be the namespace of the request"))
	}
	return errs
}

func accessSpec(spec *authorizationv1.SubjectAccessReviewSpec) field.ErrorList {
	return append(
		accessAttributes(spec.ResourceAttributes, spec.NonResourceAttributes),
		check(spec.User != "" || len(spec.Groups) > 0, field.NewPath("spec", "user"), spec.User,
			"a user or a group must be named")...)
}

func accessAttributes(
	resource *authorizationv1.ResourceAttributes, path *authorizationv1.NonResourceAttributes,
) field.ErrorList {
	return exactlyOne(field.NewPath("spec"), member{"resourceAttributes", resource != nil},
		member{"nonResourceAttributes", path != nil})
}

// noMetadata rejects metadata, which an access review must not have.
func noMetadata(meta metav1.ObjectMeta) field.ErrorList {
	meta.ManagedFields = nil
	return check(equality.Semantic.DeepEqual(meta, metav1.ObjectMeta{}), field.NewPath("metadata"), meta, "must be empty")
}
