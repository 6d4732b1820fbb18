package endpointmirror

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/serviceslices"
)

// sliceServer writes EndpointSlices.
type sliceServer interface {
	objects.Creator[*discoveryv1.EndpointSlice]
	objects.Updater[*discoveryv1.EndpointSlice]
	objects.Deleter[*discoveryv1.EndpointSlice]
}

// Controller copies all Endpoints of users.
type Controller struct {
	endpoints objects.Getter[*legacy]
	services  objects.Getter[*corev1.Service]
	own       serviceslices.Own
	write     sliceServer
	events    reconciler.Recorder
	queue     reconciler.Queue[types.NamespacedName]
	run       func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// Reconcile makes the EndpointSlices of a Service a copy of its Endpoints.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	g := Gathered{Slices: c.own.Of(key)}
	slices.SortFunc(g.Slices, func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(a.Name, b.Name) })
	if e, ok := c.endpoints.Get(key.Namespace, key.Name); ok {
		g.Endpoints = e
	}
	if s, ok := c.services.Get(key.Namespace, key.Name); ok {
		g.Service = s
	}
	if !isCopied(g.Endpoints, g.Service) {
		c.own.DeleteService(key.Namespace, key.Name)
	} else if c.own.StaleSlices(g.Service, g.Slices) {
		c.queue.AddAfter(key, serviceslices.GatherWindow)
		return nil
	}
	plan := Decide(g)
	c.report(g.Endpoints, plan)
	if err := c.carryOut(ctx, plan); err != nil && !apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return fmt.Errorf("endpoint slices for endpoints %s: %w", key, err)
	}
	return nil
}

// report records events about addresses that are not copied.
func (c *Controller) report(e *legacy, plan Plan) {
	if plan.Invalid > 0 {
		c.events.Eventf(e, corev1.EventTypeWarning, "InvalidIPAddress",
			"Skipped %d invalid IP addresses when mirroring to EndpointSlices", plan.Invalid)
	}
	if plan.Skipped > 0 {
		c.events.Eventf(e, corev1.EventTypeWarning, "TooManyAddressesToMirror",
			"A max of %d addresses can be mirrored to EndpointSlices per Endpoints subset. %d addresses were skipped",
			maxAddresses, plan.Skipped)
	}
}

func (c *Controller) carryOut(ctx context.Context, plan Plan) error {
	for _, slice := range plan.Create {
		created, err := c.write.Create(ctx, slice)
		if err != nil {
			return fmt.Errorf("create: %w", err)
		}
		c.own.Update(created)
	}
	for _, slice := range plan.Update {
		updated, err := c.write.Update(ctx, slice)
		if err != nil {
			return fmt.Errorf("update %s: %w", slice.Name, err)
		}
		c.own.Update(updated)
	}
	for _, slice := range plan.Delete {
		if err := c.write.Delete(ctx, slice); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete %s: %w", slice.Name, err)
		}
		c.own.ExpectDeletion(slice)
	}
	return nil
}
