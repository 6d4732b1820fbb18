package app

import (
	"context"
	"errors"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/allot-dev/allot/api"
	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/fleet"
)

// Options say what an Instance consists of.
type Options struct {
	DataDir       string
	Listen        string
	UnsafeNoFsync bool
	Fleet         fleet.Fleet
	// IdleNodes registers the fleet's nodes and devices, but runs no pods on them.
	IdleNodes bool
	// Step is told of each part before it starts; the function that it answers is called
	// when the part runs, with what there is to say of it. May be nil.
	Step func(name string) (done func(detail string, err error))
}

// Instance is a control plane in one process: API server, controllers, scheduler and
// simulated nodes.
type Instance struct {
	Server *apiserver.Server
	Client *client.Set
	Caches *client.Informers

	cancel  context.CancelFunc
	running sync.WaitGroup
	events  record.EventBroadcaster

	mu       sync.Mutex // guards failures
	failures []error
	failed   chan struct{} // closed at the first failure
}

// part runs until its context ends; an error stops the Instance.
type part struct {
	name string
	run  func(ctx context.Context) error
}

// Start runs all parts, and returns when the API server serves and the caches are filled.
func Start(ctx context.Context, opts Options) (*Instance, error) {
	if opts.Step == nil {
		opts.Step = func(string) func(string, error) { return func(string, error) {} }
	}
	done := opts.Step("API server and etcd")
	// The server outlives the other parts, which write until they end; Stop ends it.
	server, err := apiserver.Start(context.WithoutCancel(ctx), apiserver.Config{DataDir: opts.DataDir, Listen: opts.Listen, UnsafeNoFsync: opts.UnsafeNoFsync})
	if err != nil {
		done("", err)
		return nil, err
	}
	done(server.URL(), nil)
	ctx, cancel := context.WithCancel(ctx)
	i := &Instance{Server: server, cancel: cancel, failed: make(chan struct{})}
	if err := i.startParts(ctx, opts); err != nil {
		return nil, errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
	}
	return i, nil
}

func (i *Instance) startParts(ctx context.Context, opts Options) error {
	var err error
	if i.Client, err = client.New(i.Server.Loopback()); err != nil {
		return err
	}
	i.Caches = client.NewInformers(i.Client)
	recorder, err := i.recorder(ctx)
	if err != nil {
		return err
	}
	controllers, err := newControllers(i.Client, i.Caches, recorder)
	if err != nil {
		return err
	}
	scheduler, err := newScheduler(i.Client, i.Caches, recorder)
	if err != nil {
		return err
	}
	nodes, err := newNodes(i.Client, i.Caches, recorder, opts)
	if err != nil {
		return err
	}
	i.Caches.Start(ctx)
	groups := []struct {
		name, detail string
		parts        []part
		ready        <-chan struct{}
	}{
		{"controllers", fmt.Sprintf("%d controllers", len(controllers)), controllers, nil},
		{"scheduler", corev1.DefaultSchedulerName, []part{scheduler}, nil},
		{"simulated fleet", size(opts.Fleet), []part{{"simulated fleet", nodes.Run}}, nodes.Ready()},
	}
	for _, g := range groups {
		done := opts.Step(g.name)
		err := i.Caches.WaitForSync(ctx)
		if err == nil {
			for _, p := range g.parts {
				i.run(ctx, p)
			}
			err = i.wait(ctx, g.ready)
		}
		switch {
		case err == nil:
			done(g.detail, nil)
		case ctx.Err() != nil:
			done("stopped", nil) // Ctrl-C is no failure
		default:
			done("", err)
		}
		if err != nil {
			return fmt.Errorf("start the %s: %w", g.name, err)
		}
	}
	return nil
}

// wait waits until a part is ready; nil is ready at once.
func (i *Instance) wait(ctx context.Context, ready <-chan struct{}) error {
	if ready == nil {
		return nil
	}
	select {
	case <-ready:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-i.failed:
		return i.Err()
	}
}

// run runs a part; when it fails, or ends before it should, the Instance has failed.
func (i *Instance) run(ctx context.Context, p part) {
	i.running.Go(func() {
		err := p.run(ctx)
		if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
			return
		}
		if err == nil {
			err = errors.New("ended")
		}
		i.fail(fmt.Errorf("%s: %w", p.name, err))
	})
}

func (i *Instance) fail(err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.failures = append(i.failures, err)
	if len(i.failures) == 1 {
		close(i.failed)
	}
}

// recorder writes events through the API, dropping some rather than delaying anybody.
func (i *Instance) recorder(ctx context.Context) (record.EventRecorder, error) {
	typed, err := kubernetes.NewForConfig(i.Server.Loopback())
	if err != nil {
		return nil, fmt.Errorf("make a client for events: %w", err)
	}
	i.events = record.NewBroadcaster(record.WithContext(ctx))
	i.events.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: typed.CoreV1().Events("")})
	return i.events.NewRecorder(api.Scheme, corev1.EventSource{Component: "allot"}), nil
}

// Failed is closed when a part has failed; Err says how.
func (i *Instance) Failed() <-chan struct{} { return i.failed }

// Err is what made the Instance fail.
func (i *Instance) Err() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return errors.Join(i.failures...)
}

// Stop ends the parts, then the API server, and waits for them. It returns what had failed.
func (i *Instance) Stop(ctx context.Context) error {
	i.cancel()
	i.running.Wait()
	if i.events != nil {
		i.events.Shutdown()
	}
	if i.Caches != nil {
		i.Caches.Wait()
	}
	return errors.Join(i.Err(), i.Server.Stop(ctx))
}

// size says how large a fleet is.
func size(f fleet.Fleet) string {
	nodes, devices := f.Size()
	return count(nodes, "node") + ", " + count(devices, "device")
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
