package poolstatus

import (
	"context"

	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the requests in inf's cache. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers, opts Options) *Controller {
	opts = opts.withDefaults()
	c := &Controller{
		cache:  caches{inf.ResourcePoolStatusRequests(), inf.ResourceSlices(), inf.ResourceClaims(), inf.DeviceTaintRules()},
		server: api{set}, opts: opts,
	}
	runner := reconciler.New("poolstatus", c.reconcile,
		reconciler.Options{Workers: 1, Ready: inf.WaitForSync, Clock: opts.Clock})
	c.queue, c.run = runner, runner.Run
	inf.ResourcePoolStatusRequests().OnChange(c.onRequest)
	inf.ResourceSlices().OnChange(c.onSlice)
	return c
}

// api implements the server with a client.Set.
type api struct{ set *client.Set }

func (a api) Answer(ctx context.Context, request *upstreamv1alpha3.ResourcePoolStatusRequest) error {
	_, err := a.set.ResourcePoolStatusRequests().UpdateStatus(ctx, request, metav1.UpdateOptions{})
	return err
}

func (a api) Delete(ctx context.Context, request *upstreamv1alpha3.ResourcePoolStatusRequest) error {
	return a.set.ResourcePoolStatusRequests().Delete(ctx, request.Name,
		metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &request.UID}})
}
