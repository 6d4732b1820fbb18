package endpointmirror

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
)

// New returns the controller of the Endpoints in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	endpoints, services, slices := inf.Endpoints(), inf.Services(), inf.EndpointSlices()
	if err := slices.AddIndex(serviceslices.Index, serviceslices.Keys); err != nil {
		return nil, err
	}
	c := &Controller{
		endpoints: endpoints, services: services, write: server{set}, events: events,
		own: serviceslices.NewOwn(slices, controllerName),
	}
	runner := reconciler.New("endpointmirror", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	endpoints.OnChange(c.onEndpoints)
	services.OnChange(c.onService)
	slices.OnChange(c.onSlice)
	return c, nil
}

// server implements the writer with a client.Set.
type server struct{ set *client.Set }

func (s server) CreateSlice(
	ctx context.Context, slice *discoveryv1.EndpointSlice,
) (*discoveryv1.EndpointSlice, error) {
	return s.set.EndpointSlices(slice.Namespace).Create(ctx, slice, metav1.CreateOptions{})
}

func (s server) UpdateSlice(
	ctx context.Context, slice *discoveryv1.EndpointSlice,
) (*discoveryv1.EndpointSlice, error) {
	return s.set.EndpointSlices(slice.Namespace).Update(ctx, slice, metav1.UpdateOptions{})
}

func (s server) DeleteSlice(ctx context.Context, slice *discoveryv1.EndpointSlice) error {
	return s.set.EndpointSlices(slice.Namespace).Delete(ctx, slice.Name, metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(slice.UID)),
	})
}
