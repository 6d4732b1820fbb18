package client

import apierrors "k8s.io/apimachinery/pkg/api/errors"

// IgnoreNotFound returns nil for the error of a request about an object that does not exist, and
// any other error as it is.
func IgnoreNotFound(err error) error {
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
