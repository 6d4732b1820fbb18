package registry

import (
	"context"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	core "github.com/allot-dev/allot/api/core/v1"
)

// podLog answers for the logs that simulated pods do not have.
type podLog struct {
	store *genericregistry.Store
}

var _ rest.Getter = &podLog{}

// New implements rest.Storage.
func (l *podLog) New() runtime.Object { return &core.Pod{} }

// Destroy implements rest.Storage.
func (l *podLog) Destroy() {}

// Get fails: for a missing pod as a read of it would, else with what is the matter.
func (l *podLog) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	if _, err := l.store.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return nil, err
	}
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotImplemented,
		Reason:  "NotImplemented",
		Message: fmt.Sprintf("pod %s has no logs: it runs on a simulated node", name),
	}}
}
