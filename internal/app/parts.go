package app

import (
	"context"
	"fmt"
	"strings"

	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/daemonset"
	"github.com/allot-dev/allot/internal/controller/deployment"
	"github.com/allot-dev/allot/internal/controller/devicetaint"
	"github.com/allot-dev/allot/internal/controller/disruption"
	"github.com/allot-dev/allot/internal/controller/garbagecollector"
	"github.com/allot-dev/allot/internal/controller/job"
	"github.com/allot-dev/allot/internal/controller/namespace"
	"github.com/allot-dev/allot/internal/controller/namespacedefaults"
	"github.com/allot-dev/allot/internal/controller/nodelifecycle"
	"github.com/allot-dev/allot/internal/controller/nodetaint"
	"github.com/allot-dev/allot/internal/controller/podgc"
	"github.com/allot-dev/allot/internal/controller/podgroup"
	"github.com/allot-dev/allot/internal/controller/poolstatus"
	"github.com/allot-dev/allot/internal/controller/replicaset"
	"github.com/allot-dev/allot/internal/controller/resourcequota"
	"github.com/allot-dev/allot/internal/controller/statefulset"
	"github.com/allot-dev/allot/internal/controller/ttl"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/node"
	"github.com/allot-dev/allot/internal/scheduler"
)

// poolStatusController does not run on an existing cluster, which serves such requests itself or
// does not have their kind.
const poolStatusController = "pool status controller"

// namespaceDefaultsController does not run on an existing cluster, which has controllers for that.
const namespaceDefaultsController = "namespace defaults controller"

// resourceQuotaController does not run on an existing cluster, which has one.
const resourceQuotaController = "resource quota controller"

// runner is the interface of a part.
type runner interface {
	Run(ctx context.Context) error
}

// maker creates a controller.
type maker struct {
	name string
	make func() (runner, error)
}

// id returns the name of a controller in flags, such as "pod-collector".
func (m maker) id() string {
	return strings.ReplaceAll(strings.TrimSuffix(m.name, " controller"), " ", "-")
}

// makers returns the makers of all controllers. The sources of their events have the names of
// kube-controller-manager 1.37.
func makers(c *component) []maker {
	return []maker{
		{"claim controller", func() (runner, error) {
			return claim.New(c.Client, c.Caches, c.eventsOf("resource_claim"), c.metrics.Claims, c.features)
		}},
		{"podgroup controller", func() (runner, error) {
			return podgroup.New(c.Client, c.Caches, c.eventsOf("podgroup-protection-controller"))
		}},
		{
			"deployment controller",
			func() (runner, error) { return deployment.New(c.Client, c.Caches, c.eventsOf("deployment-controller")) },
		},
		{
			"replicaset controller",
			func() (runner, error) { return replicaset.New(c.Client, c.Caches, c.eventsOf("replicaset-controller")) },
		},
		{"job controller", func() (runner, error) { return job.New(c.Client, c.Caches, c.eventsOf("job-controller")) }},
		{"ttl controller", func() (runner, error) { return ttl.New(c.Client, c.Caches), nil }},
		{"statefulset controller", func() (runner, error) {
			return statefulset.New(c.Client, c.Caches, c.eventsOf("statefulset-controller"))
		}},
		{
			"daemonset controller",
			func() (runner, error) { return daemonset.New(c.Client, c.Caches, c.eventsOf("daemonset-controller")) },
		},
		{
			"disruption controller",
			func() (runner, error) { return disruption.New(c.Client, c.Caches, c.eventsOf("controllermanager")) },
		},
		{"garbage collector", func() (runner, error) {
			return garbagecollector.New(c.Client, c.Caches, c.eventsOf("garbage-collector-controller"))
		}},
		{"namespace controller", func() (runner, error) { return namespace.New(c.Client, c.Caches) }},
		{"device taint controller", func() (runner, error) {
			return devicetaint.New(c.Client, c.Caches, c.eventsOf("device-taint-eviction-controller"), devicetaint.Options{})
		}},
		{"node lifecycle controller", func() (runner, error) {
			return nodelifecycle.New(c.Client, c.Caches, c.eventsOf("node-controller"),
				nodelifecycle.Options{GracePeriod: c.nodeGrace})
		}},
		{"node taint controller", func() (runner, error) {
			return nodetaint.New(c.Client, c.Caches, c.eventsOf("taint-eviction-controller"), nodetaint.Options{})
		}},
		{poolStatusController, func() (runner, error) {
			return poolstatus.New(c.Client, c.Caches, poolstatus.Options{Features: c.features}), nil
		}},
		{
			namespaceDefaultsController,
			func() (runner, error) { return namespacedefaults.New(c.Client, c.Caches, c.rootCA), nil },
		},
		{resourceQuotaController, func() (runner, error) { return resourcequota.New(c.Client, c.Caches) }},
		{"pod collector", func() (runner, error) { return podgc.New(c.Client, c.Caches, podgc.Options{}) }},
	}
}

// newControllers creates all controllers on c's caches.
func newControllers(c *component) ([]part, error) {
	var parts []part
	for _, controller := range makers(c) {
		if needs, ok := neededBy(controller.name); ok && !c.features.On(needs) {
			continue
		}
		r, err := controller.make()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", controller.name, err)
		}
		parts = append(parts, part{controller.name, r.Run})
	}
	return parts, nil
}

// neededBy returns the feature without which a controller is not needed.
func neededBy(controller string) (features.Gate, bool) {
	switch controller {
	case "podgroup controller":
		return features.GenericWorkload, true
	case "device taint controller":
		return features.DeviceTaints, true
	case poolStatusController:
		return features.PoolStatus, true
	}
	return 0, false
}

// newScheduler creates the scheduler of the pods with this schedulerName.
func newScheduler(c *component, name string) (*scheduler.Scheduler, error) {
	return scheduler.New(c.Client, c.Caches, c.eventsOf(name),
		scheduler.Options{Name: name, Features: c.features, Meter: c.metrics.Scheduler})
}

func newNodes(c *component, opts Options) (*node.Agent, error) {
	return node.New(c.Client, c.Caches, opts.Fleet, node.Options{
		Events: kubeletEvents{
			c,
		}, Idle: opts.IdleNodes, Features: c.features, LeaseDuration: opts.NodeLease, PluginsDir: opts.PluginsDir,
		PodClock: opts.PodClock,
	})
}
