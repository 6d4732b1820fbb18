package dynamicadmission

import (
	"context"
	"fmt"
	"net/url"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// resolveTimeout bounds how long the look-up of a Service holds up the call of a webhook.
const resolveTimeout = 5 * time.Second

// Services resolves Services to addresses. It asks the server, since a webhook's connection is kept
// for many calls.
type Services struct {
	client kubernetes.Interface
}

// NewServices returns a resolver for the Services that client reads.
func NewServices(client kubernetes.Interface) *Services { return &Services{client: client} }

// ResolveEndpoint implements webhook.ServiceResolver. It returns the address of a ready endpoint,
// chosen at random. For a Service of type ExternalName it returns the external name, with the port
// that the webhook names, as kube-apiserver does: this is how a webhook that runs outside of the
// cluster keeps the name that its certificate has.
func (s *Services) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	ctx, cancel := context.WithTimeout(context.Background(), resolveTimeout)
	defer cancel()
	found := cache.NewIndexer(cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
	service, err := s.client.CoreV1().Services(namespace).Get(ctx, name, metav1.GetOptions{})
	switch {
	case err == nil:
		err = found.Add(service)
		if err != nil {
			return nil, err
		}
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("service %s/%s: %w", namespace, name, err)
	}
	lister := corelisters.NewServiceLister(found)
	if err == nil && service.Spec.Type == corev1.ServiceTypeExternalName {
		return proxy.ResolveCluster(lister, namespace, name, port)
	}
	return proxy.ResolveEndpoint(lister, endpointReader{ctx, s.client}, namespace, name, port)
}

// endpointReader reads the endpoints of Services.
type endpointReader struct {
	ctx    context.Context //nolint:containedctx // it lives as long as one look-up, and the interface has no context
	client kubernetes.Interface
}

// GetEndpointSlices implements proxy.EndpointSliceGetter. Endpoints created by a user are used if
// there are no slices.
func (r endpointReader) GetEndpointSlices(namespace, name string) ([]*discoveryv1.EndpointSlice, error) {
	of := labels.Set{discoveryv1.LabelServiceName: name}
	list, err := r.client.DiscoveryV1().EndpointSlices(namespace).List(
		r.ctx,
		metav1.ListOptions{LabelSelector: of.String()},
	)
	if err != nil && !apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("endpoint slices of service %s/%s: %w", namespace, name, err)
	}
	var out []*discoveryv1.EndpointSlice
	if err == nil {
		for i := range list.Items {
			out = append(out, &list.Items[i])
		}
	}
	if len(out) > 0 {
		return out, nil
	}
	endpoints, err := r.client.CoreV1().Endpoints(namespace).Get(r.ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("endpoints of service %s/%s: %w", namespace, name, err)
	}
	for _, subset := range endpoints.Subsets {
		slice := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
		for _, p := range subset.Ports {
			slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: &p.Name, Port: &p.Port})
		}
		for _, address := range subset.Addresses { // those that are ready
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{address.IP}})
		}
		out = append(out, slice)
	}
	return out, nil
}
