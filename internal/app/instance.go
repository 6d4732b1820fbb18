package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/metrics"
)

// Options say what an Instance consists of.
type Options struct {
	DataDir       string
	Listen        string
	UnsafeNoFsync bool
	Fleet         fleet.Fleet
	// Features are those that are on; the zero value has all of them.
	Features features.Set
	// IdleNodes registers the fleet's nodes and devices, but runs no pods on them.
	IdleNodes bool
	// NodeGrace is how long a node may be silent before it is lost, and NodeLease how long the simulated nodes are at most. Zero
	// values are the defaults.
	NodeGrace, NodeLease time.Duration
	// Step is told of each part before it starts; the function that it answers is called
	// when the part runs, with what there is to say of it. May be nil.
	Step func(name string) (done func(detail string, err error))
}

// Instance is a control plane in one process: API server, controllers, scheduler and
// simulated nodes.
type Instance struct {
	*component

	Server *apiserver.Server
	// Classes are the DeviceClasses for the devices of the fleet.
	Classes []string
}

// Start runs all parts, and returns when the API server serves and the caches are filled.
func Start(ctx context.Context, opts Options) (*Instance, error) {
	if opts.Step == nil {
		opts.Step = func(string) func(string, error) { return func(string, error) {} }
	}
	done := opts.Step("API server and etcd")
	// The server outlives the other parts, which write until they end; Stop ends it.
	counts := metrics.New()
	server, err := startServer(ctx, apiserver.Config{
		DataDir: opts.DataDir, Listen: opts.Listen, LastPort: lastPort(opts.DataDir), UnsafeNoFsync: opts.UnsafeNoFsync, Metrics: counts.Handler(),
		Features: opts.Features,
	})
	if err != nil {
		done("stopped", nil) // the caller says why
		return nil, err
	}
	done(server.URL(), nil)
	parts, c, err := newComponent(ctx, server.Loopback(), counts, opts.Features)
	if err != nil {
		return nil, errors.Join(err, server.Stop(context.WithoutCancel(ctx)))
	}
	c.nodeGrace = opts.NodeGrace
	i := &Instance{component: c, Server: server}
	if i.Classes, err = createClasses(parts, c.Client, opts); err != nil {
		return nil, errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
	}
	if err := i.startParts(parts, opts); err != nil {
		return nil, errors.Join(err, i.Stop(context.WithoutCancel(ctx)))
	}
	return i, nil
}

func (i *Instance) startParts(ctx context.Context, opts Options) error {
	controllers, err := newControllers(i.component)
	if err != nil {
		return err
	}
	scheduler, err := newScheduler(i.component, corev1.DefaultSchedulerName)
	if err != nil {
		return err
	}
	nodes, err := newNodes(i.component, opts)
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
		{"scheduler", corev1.DefaultSchedulerName, []part{{"scheduler", scheduler.Run}}, nil},
		{"simulated fleet", size(opts.Fleet), []part{{"simulated fleet", nodes.Run}}, nodes.Ready()},
	}
	for _, g := range groups {
		done := opts.Step(g.name)
		err := i.start(ctx, g.parts, g.ready)
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

// Stop ends the parts, then the API server, and waits for them. It returns what had failed.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop()
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
