package endpointmirror

import (
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/objects"
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
		endpoints: endpoints, services: services, write: objects.On(set.EndpointSlices), events: events,
		own: serviceslices.NewOwn(slices, controllerName),
	}
	runner := reconciler.New("endpointmirror", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	endpoints.OnChange(c.onEndpoints)
	services.OnChange(c.onService)
	slices.OnChange(c.onSlice)
	return c, nil
}
