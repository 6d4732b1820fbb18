package endpoints

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/endpointslice"
	endpointsliceutil "k8s.io/endpointslice/util"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
)

const (
	// controllerName is the value of the label that EndpointSlices of this controller have.
	controllerName = "endpointslice-controller.k8s.io"
	// perSlice is the number of endpoints that a slice has at most.
	perSlice = 100
)

// New returns the controller of the Services in inf's caches. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers) (*Controller, error) {
	clients, err := kubernetes.NewForConfig(set.Config())
	if err != nil {
		return nil, fmt.Errorf("endpoints controller: %w", err)
	}
	slices := inf.EndpointSlices()
	if err := slices.AddIndex(serviceslices.Index, serviceslices.Keys); err != nil {
		return nil, fmt.Errorf("endpoints controller: %w", err)
	}
	own := serviceslices.NewOwn(slices, controllerName)
	c := &Controller{
		services: inf.Services(), pods: inf.Pods(), own: own,
		// Without a cache of the topology, the reconciler has nothing to record events about.
		slicer: endpointslice.NewReconciler(clients, nodes{inf.Nodes()}, perSlice, own.EndpointSliceTracker, nil, nil,
			controllerName, endpointslice.WithPreferSameTrafficDistributionEnabled(true)),
		triggers: endpointsliceutil.NewTriggerTimeTracker(),
		server:   endpointsServer{set},
		existing: func(ctx context.Context) ([]types.NamespacedName, error) { return managed(ctx, set) },
	}
	runner := reconciler.New("endpoints", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	inf.Services().OnChange(c.onService)
	inf.Pods().OnChange(c.onPod)
	slices.OnChange(c.onSlice)
	return c, nil
}

// managed returns the names of all Endpoints that this controller has written.
func managed(ctx context.Context, set *client.Set) ([]types.NamespacedName, error) {
	list, err := set.Endpoints(metav1.NamespaceAll).List(ctx, metav1.ListOptions{
		LabelSelector: labels.Set{managedByLabel: managedBy}.String(), ResourceVersion: "0",
	})
	if err != nil {
		return nil, err
	}
	var out []types.NamespacedName
	for i := range list.Items {
		out = append(out, reconciler.KeyOf(&list.Items[i]))
	}
	return out, nil
}

// nodes implements the lister of nodes by the cache.
type nodes struct {
	cache *client.Informer[*corev1.Node]
}

var _ corelisters.NodeLister = nodes{}

// List implements corelisters.NodeLister.
func (n nodes) List(selector labels.Selector) ([]*corev1.Node, error) {
	var out []*corev1.Node
	for _, node := range n.cache.List() {
		if selector.Matches(labels.Set(node.Labels)) {
			out = append(out, node)
		}
	}
	return out, nil
}

// Get implements corelisters.NodeLister.
func (n nodes) Get(name string) (*corev1.Node, error) {
	node, ok := n.cache.Get("", name)
	if !ok {
		return nil, apierrors.NewNotFound(corev1.Resource("nodes"), name)
	}
	return node, nil
}

// endpointsServer implements server with a client.Set.
type endpointsServer struct{ set *client.Set }

func (s endpointsServer) Endpoints(ctx context.Context, namespace, name string) (*legacy, error) {
	return s.set.Endpoints(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (s endpointsServer) CreateEndpoints(ctx context.Context, e *legacy) error {
	_, err := s.set.Endpoints(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
	return err
}

func (s endpointsServer) UpdateEndpoints(ctx context.Context, e *legacy) error {
	_, err := s.set.Endpoints(e.Namespace).Update(ctx, e, metav1.UpdateOptions{})
	return err
}

func (s endpointsServer) DeleteEndpoints(ctx context.Context, namespace, name string) error {
	return s.set.Endpoints(namespace).Delete(ctx, name, metav1.DeleteOptions{})
}
