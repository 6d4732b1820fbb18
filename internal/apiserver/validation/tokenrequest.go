package validation

import (
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The minimum lifetime of a token, which leaves a client time to renew it, and the maximum of the
// field.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// ValidateTokenRequest checks a request for a token of the named service account.
func ValidateTokenRequest(r *authenticationv1.TokenRequest, account string) field.ErrorList {
	spec := field.NewPath("spec")
	errs := append(
		check(r.Name == "" || r.Name == account, field.NewPath("metadata", "name"), r.Name,
			"must be the name of the service account"),
		between(spec.Child("expirationSeconds"), *r.Spec.ExpirationSeconds, minTokenSeconds, maxTokenSeconds)...,
	)
	ref := r.Spec.BoundObjectRef
	if ref == nil {
		return errs
	}
	path := spec.Child("boundObjectRef")
	kinds := []string{"Node", "Pod", "Secret"}
	if !slices.Contains(kinds, ref.Kind) {
		errs = append(errs, field.NotSupported(path.Child("kind"), ref.Kind, kinds))
	}
	if ref.APIVersion != "v1" {
		errs = append(errs, field.NotSupported(path.Child("apiVersion"), ref.APIVersion, []string{"v1"}))
	}
	return append(errs, required(path.Child("name"), ref.Name)...)
}
