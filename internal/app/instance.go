package app

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/allot-dev/allot/internal/apiserver"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/metrics"
	"github.com/allot-dev/allot/internal/snapshot"
	"github.com/allot-dev/allot/internal/snapshot/restore"
)

// Options are the settings of an Instance.
type Options struct {
	DataDir       string
	Listen        string
	UnsafeNoFsync bool
	Fleet         fleet.Fleet
	// Features are the enabled features. The zero value enables all of them.
	Features features.Set
	// PluginsDir is the folder in which DRA drivers register on the fleet's nodes. Empty means that
	// there are no drivers.
	PluginsDir string
	// PodClock is the clock of the pods on the fleet's nodes. Nil is the system clock.
	PodClock clock.WithTicker
	// Snapshot has objects to begin with, or is nil. Its nodes and devices are those of the Fleet.
	Snapshot *snapshot.Snapshot
	// IdleNodes registers the fleet's nodes and devices, but runs no pods on them.
	IdleNodes bool
	// NodeGrace is how long a node may send no heartbeat before it is lost, and NodeLease the
	// longest duration of the simulated nodes' Leases. Zero values are the defaults.
	NodeGrace, NodeLease time.Duration
	// TracingFile is the name of a TracingConfiguration, as for kube-apiserver. Optional.
	TracingFile string
	// ServiceClusterIPRange is the range of the cluster IPs of Services. Optional.
	ServiceClusterIPRange netip.Prefix
	// Step, if not nil, is called before each part starts. The returned function is called when the
	// part runs, with a detail or an error.
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

// Start starts all parts. It returns when the API server serves and the caches are filled.
func Start(ctx context.Context, opts Options) (*Instance, error) {
	if opts.Step == nil {
		opts.Step = func(string) func(string, error) { return func(string, error) {} }
	}
	done := opts.Step("API server and etcd")
	// The server outlives the other parts, which write until they end. Stop stops it.
	counts := metrics.New()
	server, err := startServer(ctx, apiserver.Config{
		DataDir: opts.DataDir, Listen: opts.Listen, LastPort: lastPort(opts.DataDir), UnsafeNoFsync: opts.UnsafeNoFsync,
		Metrics: counts.Handler(), DeviceRefused: counts.Guard.Refused, TracingFile: opts.TracingFile,
		Features: opts.Features, ServiceAccounts: true, ServiceClusterIPRange: opts.ServiceClusterIPRange,
	})
	if err != nil {
		done("stopped", nil) // the caller reports the error
		return nil, err
	}
	done(server.URL(), nil)
	parts, c, err := newComponent(ctx, server.Loopback(), counts, opts.Features)
	if err != nil {
		return nil, errors.Join(err, server.Stop(context.WithoutCancel(ctx)))
	}
	c.nodeGrace, c.rootCA, c.tracing = opts.NodeGrace, server.RootCA(), server.Tracing()
	c.issuer, c.claimCreator = server.Authority(), corev1.DefaultSchedulerName
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
	steps := []func() error{
		func() error {
			return i.startGroup(ctx, opts, "controllers", fmt.Sprintf("%d controllers", len(controllers)), controllers, nil)
		},
		func() error {
			return i.startGroup(ctx, opts, "scheduler", corev1.DefaultSchedulerName, []part{{"scheduler", scheduler.Run}}, nil)
		},
		func() error {
			return i.startGroup(ctx, opts, "simulated fleet", size(opts.Fleet), []part{{"simulated fleet", nodes.Run}},
				nodes.Ready())
		},
	}
	if opts.Snapshot != nil {
		// Nothing may act on objects of the snapshot before all are there but their nodes.
		steps = []func() error{steps[2], func() error { return i.restore(ctx, opts) }, steps[0], steps[1]}
	}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// startGroup starts some parts as one step.
func (i *Instance) startGroup(
	ctx context.Context, opts Options, name, detail string, parts []part, ready <-chan struct{},
) error {
	done := opts.Step(name)
	err := i.start(ctx, parts, ready)
	switch {
	case err == nil:
		done(detail, nil)
		return nil
	case ctx.Err() != nil:
		done("stopped", nil) // Ctrl-C is not a failure
	default:
		done("", err)
	}
	return fmt.Errorf("start the %s: %w", name, err)
}

// restore writes the objects of the snapshot.
func (i *Instance) restore(ctx context.Context, opts Options) error {
	done := opts.Step("snapshot")
	plain, err := kubernetes.NewForConfig(i.Server.Loopback())
	if err == nil {
		err = restore.Restore(ctx, i.Client, plain, opts.Snapshot)
	}
	if err == nil {
		done(count(len(opts.Snapshot.Objects.Pods), "pod")+" of "+opts.Snapshot.Taken.UTC().Format(time.RFC3339), nil)
		return nil
	}
	done("stopped", nil) // the caller reports the error
	return fmt.Errorf("restore the snapshot: %w", err)
}

// Stop stops the parts, then the API server, and waits for them. It returns the error of a part
// that failed.
func (i *Instance) Stop(ctx context.Context) error {
	i.stop()
	return errors.Join(i.Err(), i.Server.Stop(ctx))
}

// size describes the size of a fleet.
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
