package endpointmirror

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
)

// onEndpoints handles a change in the cache of Endpoints.
func (c *Controller) onEndpoints(before, after *legacy) { enqueueChanged(c, before, after) }

// onService handles a change in the cache of Services: one may get or lose its selector.
func (c *Controller) onService(before, after *corev1.Service) {
	if before == nil || after == nil || (before.Spec.Selector == nil) != (after.Spec.Selector == nil) {
		enqueueChanged(c, before, after)
	}
}

func enqueueChanged[T interface {
	comparable
	metav1.Object
}](c *Controller, before, after T) {
	var none T
	if after == none {
		after = before
	}
	c.queue.AddAfter(reconciler.KeyOf(after), serviceslices.GatherWindow)
}

// onSlice handles a change in the cache of EndpointSlices: one that this controller did not make.
func (c *Controller) onSlice(before, after *discoveryv1.EndpointSlice) {
	if service, ok := c.own.Disturbed(before, after); ok {
		c.queue.AddAfter(service, serviceslices.GatherWindow)
	}
}
