package devicetaint

import (
	"context"
	"fmt"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
	"github.com/allot-dev/allot/internal/controller/eviction"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// reasonEviction is upstream's reason for events on pods.
const reasonEviction = "DeviceTaintManagerEviction"

// reasonDisruption is upstream's reason of the condition DisruptionTarget.
const reasonDisruption = "DeletionByDeviceTaintManager"

// Options configures a Controller. The zero value uses the defaults.
type Options struct {
	// PerSecond limits the deleted pods per second. Default 100.
	PerSecond int
	// MinLife is the minimum lifetime of a pod with tolerations that expired before it was
	// scheduled. Default 10 s.
	MinLife time.Duration
	// StatusPeriod is the minimum time between status updates of a rule. Default 10 s.
	StatusPeriod time.Duration
	// Clock provides the time. Default: the system clock.
	Clock clock.WithTicker
	// Evicted is called for each deleted pod with the time since its taint was due. It may be nil.
	Evicted func(late time.Duration)
}

func (o Options) withDefaults() Options {
	if o.PerSecond <= 0 {
		o.PerSecond = 100
	}
	if o.MinLife <= 0 {
		o.MinLife = 10 * time.Second
	}
	if o.StatusPeriod <= 0 {
		o.StatusPeriod = 10 * time.Second
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Evicted == nil {
		o.Evicted = func(time.Duration) {}
	}
	return o
}

// indexed is a cache with indexes.
type indexed[T any] interface {
	Get(namespace, name string) (T, bool)
	ByIndex(index, key string) []T
	List() []T
}

// caches has the caches of the controller. Pods must have claims.PodIndex, Claims claimsByPool and
// Slices slicesByPool.
type caches struct {
	pods   indexed[*core.Pod]
	claims indexed[*resource.ResourceClaim]
	slices indexed[*resourcev1.ResourceSlice]
	rules  indexed[*resourcev1.DeviceTaintRule]
}

// server makes the writes of the controller, and its only read that bypasses the caches. All writes
// have a UID precondition.
type server interface {
	eviction.Server
	LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error)
	UpdateRuleStatus(ctx context.Context, rule *resourcev1.DeviceTaintRule) error
}

// Controller evicts pods and reports the status of rules.
type Controller struct {
	cache   caches
	server  server
	opts    Options
	evictor *eviction.Evictor
	reports reconciler.Queue[string] // names of rules
	run     func(context.Context) error

	mu     sync.Mutex        // guards counts
	counts map[types.UID]int // number of evicted pods, by rule
}

func newController(
	cache caches, server server, limit eviction.Limiter, events reconciler.Recorder, opts Options,
) *Controller {
	c := &Controller{cache: cache, server: server, opts: opts, counts: map[types.UID]int{}}
	c.evictor = eviction.New(eviction.Config{
		Pods: cache.pods, Server: server, Limit: limit, Events: events, Clock: opts.Clock,
		Judge:   func(pod *core.Pod) (eviction.Verdict, bool) { return judge(pod, c.sources().ends(pod), opts.MinLife) },
		Confirm: c.hasTaintedDevices,
		Words: eviction.Words{
			Event:     reasonEviction,
			Condition: reasonDisruption,
			CalledOff: "no device is tainted any more: not evicted",
		},
		Changed: c.report, Evicted: c.count,
	})
	return c
}

// hasTaintedDevices reports whether devices of the pod are tainted that the API shows for its claims. The cache
// of pods may be newer than that of claims: then a pod that was just bound seems to have the devices
// that its claim had before, which were given up because they are tainted.
func (c *Controller) hasTaintedDevices(ctx context.Context, pod *core.Pod) (bool, error) {
	live := map[string]*resource.ResourceClaim{}
	for _, name := range claims.Uses(pod) {
		claim, err := c.server.LiveClaim(ctx, pod.Namespace, name)
		switch {
		case apierrors.IsNotFound(err):
		case err != nil:
			return false, fmt.Errorf("read claim %s: %w", name, err)
		default:
			live[name] = claim
		}
	}
	sources := c.sources()
	sources.Claim = func(_, name string) (*resource.ResourceClaim, bool) {
		claim, ok := live[name]
		return claim, ok
	}
	_, evicts := judge(pod, sources.ends(pod), c.opts.MinLife)
	return evicts, nil
}

// Run evicts until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

// sources returns what decides which pods are evicted.
func (c *Controller) sources() Sources {
	return Sources{
		Claim: c.cache.claims.Get,
		Slices: func(driver, pool string) []*resourcev1.ResourceSlice {
			return c.cache.slices.ByIndex(slicesByPool, poolKey(driver, pool))
		},
		Rules: c.cache.rules.List(),
	}
}

// count counts an eviction.
func (c *Controller) count(v eviction.Verdict) {
	c.mu.Lock()
	for rule := range v.Rules {
		c.counts[rule]++
	}
	c.mu.Unlock()
	c.opts.Evicted(max(0, c.opts.Clock.Since(v.At)))
	c.report(v)
}
