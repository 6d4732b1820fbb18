package client

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// IsRefusal reports whether the error is a response which means that the request was not carried
// out. After any other error, such as a lost response, it may have been.
func IsRefusal(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= 400 && status.Status().Code < 500
}
