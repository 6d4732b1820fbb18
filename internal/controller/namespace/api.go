package namespace

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/kinds"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the namespaces in inf's cache. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers) (*Controller, error) {
	config := rest.CopyConfig(set.Config())
	config.QPS = -1 // maxParallel limits the rate
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("namespace controller: discovery client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(metadata.ConfigFor(config))
	if err != nil {
		return nil, fmt.Errorf("namespace controller: metadata client: %w", err)
	}
	c := &Controller{
		namespaces: inf.Namespaces(), writer: namespaceServer{set}, objects: contentServer{metadataClient},
		discovery: discoverer, clock: clock.RealClock{}, waits: map[string]time.Duration{},
	}
	runner := reconciler.New("namespace", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	inf.Namespaces().OnChange(c.onNamespace)
	inf.Pods().OnChange(c.onPod)
	return c, nil
}

type namespaceServer struct{ set *client.Set }

func (s namespaceServer) UpdateStatus(ctx context.Context, ns *corev1.Namespace) error {
	_, err := s.set.Namespaces().UpdateStatus(ctx, ns, metav1.UpdateOptions{})
	return err
}

func (s namespaceServer) Finalize(ctx context.Context, ns *corev1.Namespace) error {
	return s.set.FinalizeNamespace(ctx, ns)
}

type contentServer struct{ client metadata.Interface }

func (s contentServer) List(
	ctx context.Context, kind kinds.Kind, namespace string,
) ([]metav1.PartialObjectMetadata, error) {
	list, err := s.client.Resource(kind.Resource).Namespace(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.Items, nil
}

// inBackground prevents the server from adding finalizers for the garbage collector, because all
// content is deleted anyway.
func inBackground() metav1.DeleteOptions {
	policy := metav1.DeletePropagationBackground
	return metav1.DeleteOptions{PropagationPolicy: &policy}
}

func (s contentServer) DeleteAll(ctx context.Context, kind kinds.Kind, namespace string) error {
	return s.client.Resource(kind.Resource).Namespace(
		namespace,
	).DeleteCollection(ctx, inBackground(), metav1.ListOptions{})
}

func (s contentServer) Delete(ctx context.Context, kind kinds.Kind, namespace, name string) error {
	return s.client.Resource(kind.Resource).Namespace(namespace).Delete(ctx, name, inBackground())
}
