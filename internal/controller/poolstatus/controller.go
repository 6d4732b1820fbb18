package poolstatus

import (
	"context"
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	upstreamv1alpha3 "k8s.io/api/resource/v1alpha3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
)

// Options are the options of a Controller. The zero value is valid.
type Options struct {
	// Patience is the time after the creation of a request for which it waits for incomplete pools.
	// Default 10 s.
	Patience time.Duration
	// Features are the enabled features.
	Features features.Set
	// Clock is used for all times. Default: the wall clock.
	Clock clock.WithTicker
}

func (o Options) withDefaults() Options {
	if o.Patience <= 0 {
		o.Patience = 10 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// cache is the cache of one kind.
type cache[T any] interface {
	Get(namespace, name string) (T, bool)
	List() []T
}

// caches are the caches that the controller reads.
type caches struct {
	requests cache[*upstreamv1alpha3.ResourcePoolStatusRequest]
	slices   cache[*resourcev1.ResourceSlice]
	claims   cache[*resource.ResourceClaim]
	rules    cache[*resourcev1.DeviceTaintRule]
}

// server writes requests.
type server interface {
	Answer(ctx context.Context, request *upstreamv1alpha3.ResourcePoolStatusRequest) error
	// Delete deletes the request, with a UID precondition.
	Delete(ctx context.Context, request *upstreamv1alpha3.ResourcePoolStatusRequest) error
}

// Controller writes the status of requests, and deletes old ones.
type Controller struct {
	cache  caches
	server server
	opts   Options
	queue  reconciler.Queue[string] // names of requests
	run    func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// reconcile writes the status of a request, or deletes the request when it has expired.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	request, ok := c.cache.requests.Get("", name)
	if !ok || request.DeletionTimestamp != nil {
		return nil
	}
	now := c.opts.Clock.Now()
	left := expiry(request).Sub(now)
	if left <= 0 {
		if err := c.server.Delete(ctx, request); err != nil && !overtaken(err) {
			return fmt.Errorf("delete the expired request %s: %w", name, err)
		}
		return nil
	}
	c.queue.AddAfter(name, left)
	if request.Status != nil {
		return nil
	}
	status, incomplete := answer(request, c.facts(), now)
	if wait := request.CreationTimestamp.Add(c.opts.Patience).Sub(now); incomplete && wait > 0 {
		c.queue.AddAfter(name, wait)
		return nil
	}
	request = request.DeepCopy()
	request.Status = status
	if err := c.server.Answer(ctx, request); err != nil && !overtaken(err) {
		return fmt.Errorf("answer the request %s: %w", name, err)
	}
	return nil
}

// overtaken reports whether the object was deleted or has changed. The cache will show that.
func overtaken(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }

func (c *Controller) facts() *facts {
	return &facts{
		slices:   c.cache.slices.List(),
		claims:   c.cache.claims.List(),
		rules:    c.cache.rules.List(),
		features: c.opts.Features,
	}
}

func (c *Controller) onRequest(_, after *upstreamv1alpha3.ResourcePoolStatusRequest) {
	if after != nil {
		c.queue.Add(after.Name)
	}
}

// onSlice enqueues the requests that wait for a pool of this driver.
func (c *Controller) onSlice(before, after *resourcev1.ResourceSlice) {
	s := after
	if s == nil {
		s = before
	}
	for _, request := range c.cache.requests.List() {
		if request.Status == nil && request.Spec.Driver == s.Spec.Driver {
			c.queue.Add(request.Name)
		}
	}
}
