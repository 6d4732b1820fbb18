package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/record"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/certificates"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/metrics"
)

// component is a set of parts that run in one process, with one client, one set of caches and one
// broadcaster of events. Create the parts, start the caches, then the parts.
type component struct {
	Client *client.Set
	Caches *client.Informers
	// features are the enabled features.
	features features.Set
	// nodeGrace is how long a node may send no heartbeat.
	nodeGrace time.Duration
	// rootCA are the certificates by which clients verify the API server.
	rootCA []byte
	// issuer signs the certificates that are requested; it may be nil.
	issuer certificates.Issuer
	// claimCreator is the name of the scheduler that creates claims with their devices; "" if none
	// does. It runs in the same process, so that claims are not left to a scheduler that is absent.
	claimCreator string
	// metrics has the metrics of the parts.
	metrics *metrics.Registry
	// tracing makes the traces of what is scheduled; it may be nil.
	tracing trace.TracerProvider

	broadcaster record.EventBroadcaster
	cancel      context.CancelFunc
	running     sync.WaitGroup

	mu       sync.Mutex // guards failures
	failures []error
	failed   chan struct{} // closed at the first failure
}

// part runs until its context ends. An error stops the process.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// newComponent returns a component for the server of cfg, and a context that ends with stop.
func newComponent(
	ctx context.Context, cfg *rest.Config, counts *metrics.Registry, on features.Set,
) (context.Context, *component, error) {
	set, err := client.New(cfg)
	if err != nil {
		return nil, nil, err
	}
	return newComponentOn(ctx, set, counts, on)
}

// newComponentOn is like newComponent, with clients for the server. The caches leave out the absent
// kinds, and those of disabled features.
func newComponentOn(
	ctx context.Context, set *client.Set, counts *metrics.Registry, on features.Set, absent ...string,
) (context.Context, *component, error) {
	cfg := set.Config()
	typed, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, nil, fmt.Errorf("make a client for events: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	caches := client.NewInformers(set).Without(absentKinds(on)...).Without(absent...)
	c := &component{
		Client:   set,
		Caches:   caches,
		features: on,
		metrics:  counts,
		cancel:   cancel,
		failed:   make(chan struct{}),
	}
	// The recorder drops events rather than delay its callers.
	c.broadcaster = record.NewBroadcaster(record.WithContext(ctx))
	c.broadcaster.StartRecordingToSink(eventSink{&typedcorev1.EventSinkImpl{Interface: typed.CoreV1().Events("")}})
	return ctx, c, nil
}

// start runs parts once the caches are filled, and returns when ready is closed. A nil channel
// counts as closed.
func (c *component) start(ctx context.Context, parts []part, ready <-chan struct{}) error {
	if err := c.Caches.WaitForSync(ctx); err != nil {
		return err
	}
	for _, p := range parts {
		c.run(ctx, p)
	}
	if ready == nil {
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-c.failed:
		return c.Err()
	}
}

// run runs a part. If the part fails, or returns before its context ends, the component has failed.
func (c *component) run(ctx context.Context, p part) {
	c.running.Go(func() {
		err := p.run(ctx)
		if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
			return
		}
		if err == nil {
			err = errors.New("ended")
		}
		c.fail(fmt.Errorf("%s: %w", p.name, err))
	})
}

func (c *component) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failures = append(c.failures, err)
	if len(c.failures) == 1 {
		close(c.failed)
	}
}

// Failed is closed when a part has failed; Err then returns the error.
func (c *component) Failed() <-chan struct{} { return c.failed }

// Err returns the error that made the component fail.
func (c *component) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.failures...)
}

// stop stops the parts and waits for them.
func (c *component) stop() {
	c.cancel()
	c.running.Wait()
	c.broadcaster.Shutdown()
	c.Caches.Wait()
}
