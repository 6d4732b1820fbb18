package kinds

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Unserved reports whether a NotFound error is for a path that the server does not serve, not for
// an object: only an error for an object names the object.
func Unserved(notFound error) bool {
	var status apierrors.APIStatus
	if !errors.As(notFound, &status) {
		return true
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || len(details.Causes) > 0
}
