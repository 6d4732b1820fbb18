package serviceslices

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	endpointsliceutil "k8s.io/endpointslice/util"
)

const (
	// Index is the index of EndpointSlices by Keys.
	Index = "endpoints-service"
	// GatherWindow is the delay after an event, so that several events cause one write.
	GatherWindow = 20 * time.Millisecond
)

// Keys returns the key of the Service of a slice, if it has one.
func Keys(slice *discoveryv1.EndpointSlice) []string {
	name, ok := slice.Labels[discoveryv1.LabelServiceName]
	if !ok {
		return nil
	}
	return []string{types.NamespacedName{Namespace: slice.Namespace, Name: name}.String()}
}

// Cache is the cache of EndpointSlices. It must have Index.
type Cache interface {
	ByIndex(index, key string) []*discoveryv1.EndpointSlice
}

// Own has the EndpointSlices of one controller, and what the cache does not show of them yet.
type Own struct {
	*endpointsliceutil.EndpointSliceTracker

	cache   Cache
	manager string
}

// NewOwn returns the slices of the controller with this value of the label managed-by.
func NewOwn(cache Cache, manager string) Own {
	return Own{endpointsliceutil.NewEndpointSliceTracker(), cache, manager}
}

// Of returns the controller's slices for a Service that are not being deleted, in no particular
// order.
func (o Own) Of(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	var out []*discoveryv1.EndpointSlice
	for _, slice := range o.cache.ByIndex(Index, service.String()) {
		if o.manages(slice) && slice.DeletionTimestamp == nil {
			out = append(out, slice)
		}
	}
	return out
}

func (o Own) manages(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[discoveryv1.LabelManagedBy] == o.manager
}

// Disturbed returns the Service of a slice that changed in the cache, if the change is not one that
// this controller made.
func (o Own) Disturbed(before, after *discoveryv1.EndpointSlice) (types.NamespacedName, bool) {
	slice := after
	switch {
	case after == nil:
		if !o.manages(before) || !o.Has(before) || o.HandleDeletion(before) {
			return types.NamespacedName{}, false
		}
		slice = before
	case before != nil && o.manages(before) != o.manages(after):
	case !o.manages(after) || !o.ShouldSync(after):
		return types.NamespacedName{}, false
	}
	name := slice.Labels[discoveryv1.LabelServiceName]
	return types.NamespacedName{Namespace: slice.Namespace, Name: name}, name != ""
}
