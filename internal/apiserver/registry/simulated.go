package registry

import (
	"context"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"

	core "github.com/allot-dev/allot/api/core/v1"
)

// simulated serves subresources that simulated pods do not support. It returns NotFound for a pod
// that does not exist, and otherwise an explanation.
type simulated struct {
	store *genericregistry.Store
	lacks string // fields that the pod does not have
}

// New implements rest.Storage.
func (s *simulated) New() runtime.Object { return &core.Pod{} }

// Destroy implements rest.Storage; the store belongs to the pods.
func (s *simulated) Destroy() {}

func (s *simulated) refuse(ctx context.Context, name string) error {
	if _, err := s.store.Get(ctx, name, &metav1.GetOptions{}); err != nil {
		return err
	}
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    http.StatusNotImplemented,
		Reason:  "NotImplemented",
		Message: "pod " + name + " has " + s.lacks + ": it runs on a simulated node",
	}}
}

// podLog serves the logs of a pod.
type podLog struct{ simulated }

var _ rest.Getter = &podLog{}

// Get returns an error.
func (l *podLog) Get(ctx context.Context, name string, _ *metav1.GetOptions) (runtime.Object, error) {
	return nil, l.refuse(ctx, name)
}

// podStream serves connections to a pod.
type podStream struct{ simulated }

var _ rest.Connecter = &podStream{}

// Connect returns an error.
func (s *podStream) Connect(
	ctx context.Context, name string, _ runtime.Object, _ rest.Responder,
) (http.Handler, error) {
	return nil, s.refuse(ctx, name)
}

// NewConnectOptions implements rest.Connecter. There are no options.
func (s *podStream) NewConnectOptions() (runtime.Object, bool, string) { return nil, false, "" }

// ConnectMethods implements rest.Connecter.
func (s *podStream) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }
