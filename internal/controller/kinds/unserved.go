package kinds

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Unserved tells a 404 for a path that the server does not have (any more) from one for an object: only the latter names
// the object, and is the word of whoever would know it.
func Unserved(notFound error) bool {
	var status apierrors.APIStatus
	if !errors.As(notFound, &status) {
		return true
	}
	details := status.Status().Details
	return details == nil || details.Name == "" || len(details.Causes) > 0
}
