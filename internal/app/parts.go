package app

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/controller/certificates"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/cronjob"
	"github.com/allot-dev/allot/internal/controller/daemonset"
	"github.com/allot-dev/allot/internal/controller/deployment"
	"github.com/allot-dev/allot/internal/controller/devicetaint"
	"github.com/allot-dev/allot/internal/controller/disruption"
	"github.com/allot-dev/allot/internal/controller/endpointmirror"
	"github.com/allot-dev/allot/internal/controller/endpoints"
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
	"github.com/allot-dev/allot/internal/controller/replicationcontroller"
	"github.com/allot-dev/allot/internal/controller/resourcequota"
	"github.com/allot-dev/allot/internal/controller/statefulset"
	"github.com/allot-dev/allot/internal/controller/tokencleaner"
	"github.com/allot-dev/allot/internal/controller/ttl"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/metrics"
	"github.com/allot-dev/allot/internal/node"
	"github.com/allot-dev/allot/internal/scheduler"
)

// runner is the interface of a part.
type runner interface {
	Run(ctx context.Context) error
}

// maker creates a controller.
type maker struct {
	name string
	make func() (runner, error)
	// needs are the features without which the controller has nothing to do.
	needs []features.Gate
	// ownOnly is whether the controller does not run on an existing cluster, which has one itself
	// or does not have the kinds.
	ownOnly bool
}

// id returns the name of a controller in flags, such as "pod-collector".
func (m maker) id() string {
	return strings.ReplaceAll(strings.TrimSuffix(m.name, " controller"), " ", "-")
}

// makers returns the makers of all controllers. The sources of their events have the names of
// kube-controller-manager 1.37.
func makers(c *component) []maker {
	return []maker{
		{name: "claim controller", make: func() (runner, error) {
			c.metrics.Claims.Watch(c.countClaims)
			return claim.New(c.Client, c.Caches, c.eventsOf("resource_claim"), c.metrics.Claims,
				claim.Options{Features: c.features, Scheduler: c.claimCreator})
		}},
		{name: "podgroup controller", needs: []features.Gate{features.GenericWorkload}, make: func() (runner, error) {
			return podgroup.New(c.Client, c.Caches, c.eventsOf("podgroup-protection-controller"))
		}},
		{name: "deployment controller", make: func() (runner, error) {
			return deployment.New(c.Client, c.Caches, c.eventsOf("deployment-controller"))
		}},
		{name: "replicaset controller", make: func() (runner, error) {
			return replicaset.New(c.Client, c.Caches, c.eventsOf("replicaset-controller"))
		}},
		{name: "replication controller", make: func() (runner, error) {
			return replicationcontroller.New(c.Client, c.Caches, c.eventsOf("replication-controller"))
		}},
		{
			name: "job controller",
			make: func() (runner, error) { return job.New(c.Client, c.Caches, c.eventsOf("job-controller")) },
		},
		{name: "cronjob controller", make: func() (runner, error) {
			return cronjob.New(c.Client, c.Caches, c.eventsOf("cronjob-controller"))
		}},
		{name: "ttl controller", make: func() (runner, error) { return ttl.New(c.Client, c.Caches), nil }},
		{name: "statefulset controller", make: func() (runner, error) {
			return statefulset.New(c.Client, c.Caches, c.eventsOf("statefulset-controller"))
		}},
		{name: "daemonset controller", make: func() (runner, error) {
			return daemonset.New(c.Client, c.Caches, c.eventsOf("daemonset-controller"))
		}},
		{name: "disruption controller", make: func() (runner, error) {
			return disruption.New(c.Client, c.Caches, c.eventsOf("controllermanager"))
		}},
		{name: "garbage collector", make: func() (runner, error) {
			return garbagecollector.New(c.Client, c.Caches, c.eventsOf("garbage-collector-controller"))
		}},
		{name: "namespace controller", make: func() (runner, error) { return namespace.New(c.Client, c.Caches) }},
		{name: "device taint controller", needs: []features.Gate{features.DeviceTaints}, make: func() (runner, error) {
			return devicetaint.New(c.Client, c.Caches, c.eventsOf("device-taint-eviction-controller"),
				devicetaint.Options{Evicted: c.metrics.Evictions.DeviceTainted})
		}},
		{name: "node lifecycle controller", make: func() (runner, error) {
			return nodelifecycle.New(c.Client, c.Caches, c.eventsOf("node-controller"),
				nodelifecycle.Options{GracePeriod: c.nodeGrace})
		}},
		{name: "node taint controller", make: func() (runner, error) {
			return nodetaint.New(c.Client, c.Caches, c.eventsOf("taint-eviction-controller"),
				nodetaint.Options{Evicted: c.metrics.Evictions.NodeTainted})
		}},
		{
			name:    "pool status controller",
			needs:   []features.Gate{features.PoolStatus},
			ownOnly: true,
			make: func() (runner, error) {
				return poolstatus.New(c.Client, c.Caches, poolstatus.Options{Features: c.features}), nil
			},
		},
		{name: "namespace defaults controller", ownOnly: true, make: func() (runner, error) {
			return namespacedefaults.New(c.Client, c.Caches, c.rootCA), nil
		}},
		{
			name:    "resource quota controller",
			ownOnly: true,
			make:    func() (runner, error) { return resourcequota.New(c.Client, c.Caches) },
		},
		{name: "endpoints controller", ownOnly: true, make: func() (runner, error) {
			return endpoints.New(c.Client, c.Caches)
		}},
		{name: "endpoint mirror controller", ownOnly: true, make: func() (runner, error) {
			return endpointmirror.New(c.Client, c.Caches, c.eventsOf("endpoint-slice-mirroring-controller"))
		}},
		{name: "certificate controller", ownOnly: true, make: func() (runner, error) {
			return certificates.New(c.Client, c.Caches, c.issuer)
		}},
		{name: "token cleaner", ownOnly: true, make: func() (runner, error) {
			return tokencleaner.New(c.Client, c.Caches), nil
		}},
		{name: "pod collector", make: func() (runner, error) { return podgc.New(c.Client, c.Caches, podgc.Options{}) }},
	}
}

// newControllers creates all controllers on c's caches that the features need.
func newControllers(c *component) ([]part, error) {
	var parts []part
	for _, controller := range makers(c) {
		if slices.ContainsFunc(controller.needs, func(g features.Gate) bool { return !c.features.On(g) }) {
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

// newScheduler creates the scheduler of the pods with this schedulerName.
func newScheduler(c *component, name string) (*scheduler.Scheduler, error) {
	s, err := scheduler.New(c.Client, c.Caches, c.eventsOf(name),
		scheduler.Options{
			Name: name, Features: c.features, Meter: c.metrics.Scheduler, Tracing: c.tracing,
			CreatesClaims: c.claimCreator == name,
		})
	if err == nil {
		c.metrics.Scheduler.Watch(s.Counts)
	}
	return s, err
}

// countClaims counts the claims that the caches show.
func (c *component) countClaims() map[metrics.ClaimTrait]int {
	counts := map[metrics.ClaimTrait]int{}
	for trait, n := range claim.Count(c.Caches.ResourceClaims().List()) {
		counts[metrics.ClaimTrait(trait)] = n
	}
	return counts
}

func newNodes(c *component, opts Options) (*node.Agent, error) {
	return node.New(c.Client, c.Caches, opts.Fleet, node.Options{
		Events: kubeletEvents{
			c,
		}, Idle: opts.IdleNodes, Features: c.features, LeaseDuration: opts.NodeLease, PluginsDir: opts.PluginsDir,
		PodClock: opts.PodClock,
	})
}
