package crash

import (
	"context"
	"net/http"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/record"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/claim"
	"github.com/allot-dev/allot/internal/controller/daemonset"
	"github.com/allot-dev/allot/internal/controller/deployment"
	"github.com/allot-dev/allot/internal/controller/devicetaint"
	"github.com/allot-dev/allot/internal/controller/garbagecollector"
	"github.com/allot-dev/allot/internal/controller/job"
	"github.com/allot-dev/allot/internal/controller/podgroup"
	"github.com/allot-dev/allot/internal/controller/replicaset"
	"github.com/allot-dev/allot/internal/controller/statefulset"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/metrics"
	"github.com/allot-dev/allot/internal/node"
	"github.com/allot-dev/allot/internal/scheduler"
	"github.com/allot-dev/allot/internal/testkit/memserver"
)

const (
	controllers = "controllers"
	placer      = "scheduler"
	nodes       = "nodes"
	apiServer   = "API server" // no part that is started here: all of them need it
)

var allParts = []string{controllers, placer, nodes}

// machines have room for what the plays run, and no more.
var machines = fleet.Simple(3, 4)

type runner interface {
	Run(ctx context.Context) error
}

// part is one process: instances of parts of the product on one client and one set of caches.
type part struct {
	cancel  context.CancelFunc
	caches  *client.Informers
	running sync.WaitGroup
}

// startPart starts a process on a link of its own.
func startPart(server *memserver.Server, wire *wire, name string) (*part, error) {
	set, err := client.New(server.Config(func(next http.RoundTripper) http.RoundTripper { return wire.link(name, next) }))
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &part{cancel: cancel, caches: client.NewInformers(set)}
	runners, err := newRunners(name, set, p.caches)
	if err != nil {
		cancel()
		return nil, err
	}
	p.caches.Start(ctx)
	for _, r := range runners {
		p.running.Go(func() { _ = r.Run(ctx) })
	}
	return p, nil
}

// end has the process end; what it has under way is refused by its link.
func (p *part) end() {
	p.cancel()
	p.running.Wait()
	p.caches.Wait()
}

func newRunners(name string, set *client.Set, caches *client.Informers) ([]runner, error) {
	events := &record.FakeRecorder{}
	var made []runner
	var failed error
	add := func(r runner, err error) {
		if err != nil && failed == nil {
			failed = err
		}
		made = append(made, r)
	}
	switch name {
	case controllers:
		add(claim.New(set, caches, events, metrics.New().Claims,
			claim.Options{Features: features.All(), Scheduler: corev1.DefaultSchedulerName}))
		add(podgroup.New(set, caches, events))
		add(job.New(set, caches, events))
		add(replicaset.New(set, caches, events))
		add(statefulset.New(set, caches, events))
		add(deployment.New(set, caches, events))
		add(daemonset.New(set, caches, events))
		add(devicetaint.New(set, caches, events, devicetaint.Options{}))
		add(garbagecollector.New(set, caches, events))
	case placer:
		add(scheduler.New(set, caches, events, scheduler.Options{Features: features.All(), CreatesClaims: true}))
	case nodes:
		// The lease is renewed when the agent starts, and not again within a play: rest is when nothing
		// is written.
		add(node.New(set, caches, machines, node.Options{Events: events, LeaseDuration: 24 * time.Hour}))
	}
	return made, failed
}
