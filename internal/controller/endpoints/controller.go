package endpoints

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	endpointsliceutil "k8s.io/endpointslice/util"
	"k8s.io/klog/v2"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
)

type serviceCache interface {
	Get(namespace, name string) (*corev1.Service, bool)
	InNamespace(namespace string) []*corev1.Service
}

type podCache interface {
	InNamespace(namespace string) []*core.Pod
}

// slicer writes the EndpointSlices of a Service.
type slicer interface {
	Reconcile(logger klog.Logger, service *corev1.Service, pods []*corev1.Pod, existing []*discoveryv1.EndpointSlice,
		trigger time.Time) error
}

// server reads and writes Endpoints.
type server interface {
	Endpoints(ctx context.Context, namespace, name string) (*legacy, error)
	CreateEndpoints(ctx context.Context, e *legacy) error
	UpdateEndpoints(ctx context.Context, e *legacy) error
	DeleteEndpoints(ctx context.Context, namespace, name string) error
}

// Controller keeps the endpoints of all Services.
type Controller struct {
	services serviceCache
	pods     podCache
	slicer   slicer
	own      serviceslices.Own
	triggers *endpointsliceutil.TriggerTimeTracker
	server   server
	queue    reconciler.Queue[types.NamespacedName]
	// existing returns the Services whose Endpoints exist when the controller starts.
	existing func(context.Context) ([]types.NamespacedName, error)
	run      func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	left, err := c.existing(ctx)
	if err != nil && ctx.Err() == nil {
		klog.FromContext(ctx).Error(err, "List the Endpoints that are left of deleted Services")
	}
	for _, key := range left {
		c.queue.Add(key)
	}
	return c.run(ctx)
}

// Reconcile writes the EndpointSlices and the Endpoints of a Service.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	service, ok := c.services.Get(key.Namespace, key.Name)
	if !ok {
		c.triggers.DeleteService(key.Namespace, key.Name)
		c.own.DeleteService(key.Namespace, key.Name)
		if err := c.server.DeleteEndpoints(ctx, key.Namespace, key.Name); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete endpoints %s: %w", key, err)
		}
		return nil
	}
	if service.Spec.Type == corev1.ServiceTypeExternalName || service.Spec.Selector == nil {
		return nil
	}
	existing := c.own.Of(key)
	if c.own.StaleSlices(service, existing) {
		c.queue.AddAfter(key, serviceslices.GatherWindow)
		return nil
	}
	pods := c.selected(service)
	trigger := c.triggers.ComputeEndpointLastChangeTriggerTime(key.Namespace, service, pods)
	err := c.slicer.Reconcile(klog.FromContext(ctx), service, pods, existing, trigger)
	if err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		err = fmt.Errorf("endpoint slices of service %s: %w", key, err)
	} else {
		err = nil
	}
	return errors.Join(err, c.writeEndpoints(ctx, service, pods, trigger))
}

func (c *Controller) selected(service *corev1.Service) []*corev1.Pod {
	selector := labels.Set(service.Spec.Selector).AsSelectorPreValidated()
	var out []*corev1.Pod
	for _, pod := range c.pods.InNamespace(service.Namespace) {
		if selector.Matches(labels.Set(pod.Labels)) {
			out = append(out, pod.Upstream())
		}
	}
	return out
}

func (c *Controller) writeEndpoints(
	ctx context.Context, service *corev1.Service, pods []*corev1.Pod, trigger time.Time,
) error {
	existing, err := c.server.Endpoints(ctx, service.Namespace, service.Name)
	switch {
	case apierrors.IsNotFound(err):
		existing = nil
	case err != nil:
		return fmt.Errorf("endpoints %s/%s: %w", service.Namespace, service.Name, err)
	}
	want := desired(service, pods, existing, trigger)
	if want == nil {
		return nil
	}
	if existing == nil {
		err = c.server.CreateEndpoints(ctx, want)
	} else {
		err = c.server.UpdateEndpoints(ctx, want)
	}
	if err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fmt.Errorf("write endpoints %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}
