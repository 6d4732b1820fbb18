package registry

import (
	"errors"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	storeerr "k8s.io/apiserver/pkg/storage/errors"
)

// interpret converts an error of the storage into an API error. Any other error, from the update
// function, becomes a conflict.
func interpret(err error, resource schema.GroupResource, name string) error {
	err = storeerr.InterpretGetError(err, resource, name)
	err = storeerr.InterpretUpdateError(err, resource, name)
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return err
	}
	return apierrors.NewConflict(resource, name, err)
}
