package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
)

// checkedUpdate is an update whose invalid patches are reported as errors of the client. The libraries
// that apply patches return such an error without a status, or panic, and the server would respond
// with 500.
type checkedUpdate struct {
	rest.UpdatedObjectInfo
}

// UpdatedObject implements rest.UpdatedObjectInfo.
func (u checkedUpdate) UpdatedObject(ctx context.Context, old runtime.Object) (obj runtime.Object, err error) {
	defer func() {
		// A handler aborts a request on purpose with this value; the patch did not cause it.
		if fault := recover(); fault == http.ErrAbortHandler { //nolint:errorlint // panics with this very value
			panic(fault)
		} else if fault != nil {
			obj, err = nil, apierrors.NewBadRequest(fmt.Sprintf("the change cannot be applied: %v", fault))
		}
	}()
	obj, err = u.UpdatedObjectInfo.UpdatedObject(ctx, old)
	return obj, readableError(ctx, err)
}

// readableError converts an error without a status to a bad request, unless the request has ended.
func readableError(ctx context.Context, err error) error {
	var status apierrors.APIStatus
	if err == nil || ctx.Err() != nil || errors.As(err, &status) && status.Status().Code < http.StatusInternalServerError {
		return err
	}
	return apierrors.NewBadRequest(err.Error())
}

// withoutVersion rejects a new object with a resourceVersion.
func withoutVersion(obj runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if m.GetResourceVersion() != "" {
		return apierrors.NewBadRequest("metadata.resourceVersion: must not be set on objects to be created")
	}
	return nil
}

// Create implements rest.Creater.
func (s *storage) Create(
	ctx context.Context, obj runtime.Object, validate rest.ValidateObjectFunc, options *metav1.CreateOptions,
) (runtime.Object, error) {
	if err := withoutVersion(obj); err != nil {
		return nil, err
	}
	return s.Store.Create(ctx, obj, validate, options)
}

// Update implements rest.Updater.
func (s *storage) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	return s.Store.Update(ctx, name, checkedUpdate{info}, create, update, force, options)
}
