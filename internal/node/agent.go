package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
	"github.com/allot-dev/allot/internal/fleet"
)

const (
	defaultWorkers = 16
	defaultStopFor = 100 * time.Millisecond
)

// Options configures an Agent. The zero value is valid except for Events.
type Options struct {
	// Events records the events of pods. Required.
	Events reconciler.Recorder
	// Runtime runs the pods. Default: the simulated runtime.
	Runtime Runtime
	// Devices prepares the devices of claims. Default: devices are always ready.
	Devices Devices
	// PluginsDir is the folder in which DRA drivers register (see package plugins), instead of
	// Devices. Default: there are no drivers.
	PluginsDir string
	// Idle disables starting pods. Pods are still deleted on request.
	Idle bool
	// StopFor is the time that simulated pods without an annotation take to stop. Default 100 ms.
	StopFor time.Duration
	// Workers is the number of concurrent writers for each of pods, nodes and pools. Default 16.
	Workers int
	// LeaseDuration is the time without a renewal after which the Lease of the fleet expires. It is
	// renewed four times within that time. Default 40 s.
	LeaseDuration time.Duration
	// Features are the enabled features.
	Features features.Set
	// Clock provides the time. Default: the system clock.
	Clock clock.WithTicker
	// PodClock provides the time of pods, which may be another one. Default: Clock.
	PodClock clock.WithTicker
}

func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.PodClock == nil {
		o.PodClock = o.Clock
	}
	if o.StopFor == 0 {
		o.StopFor = defaultStopFor
	}
	if o.LeaseDuration <= 0 {
		o.LeaseDuration = DefaultLeaseDuration
	}
	if o.Workers <= 0 {
		o.Workers = defaultWorkers
	}
	if o.Runtime == nil {
		o.Runtime = NewSimulated(o.PodClock, o.StopFor)
	}
	if o.Devices == nil {
		o.Devices = noDevices{}
	}
	return o
}

// Agent is the node agent for all nodes of a fleet.
type Agent struct {
	fleet fleet.Fleet
	inf   *client.Informers
	api   server

	pods      *pods
	nodes     *nodes
	pools     *pools
	heartbeat *heartbeat
	drivers   *nodeDrivers // nil without a folder for plugins

	podQueue  *reconciler.Runner[types.NamespacedName]
	nodeQueue *reconciler.Runner[string]
	poolQueue *reconciler.Runner[poolKey]

	mu      sync.Mutex
	missing map[string]bool // nodes and pools that are not registered yet
	ready   chan struct{}   // closed when missing is empty
}

// New returns the agent of a fleet on inf's caches. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers, f fleet.Fleet, opts Options) (*Agent, error) {
	opts = opts.withDefaults()
	if opts.Events == nil {
		return nil, errors.New("the node agent needs a recorder of events")
	}
	a := &Agent{fleet: f, inf: inf, api: server{set}, missing: map[string]bool{}, ready: make(chan struct{})}
	a.heartbeat = &heartbeat{fleet: f.Name, write: a.api, clock: opts.Clock, duration: opts.LeaseDuration}
	echoes := newOwnWrites(opts.Clock)
	a.nodes = &nodes{
		cache: inf.Nodes(), write: a.api, clock: opts.Clock, machines: machinesOf(f), echoes: echoes, seen: newNames(),
		registered: func(name string) { a.markDone("node/" + name) },
	}
	wanted, ofNode := poolsOf(f)
	a.pools = &pools{
		cache: inf.ResourceSlices(), nodes: inf.Nodes(), write: a.api, desired: wanted, ofNode: ofNode, echoes: echoes,
		fleet:    f.Name,
		external: map[poolKey]bool{}, published: func(key poolKey) { a.markDone("pool/" + key.String()) },
	}
	a.pods = &pods{
		cache: inf.Pods(), claims: inf.ResourceClaims(), live: a.api, write: a.api, holdings: newHoldings(opts.Devices),
		events: opts.Events, runtime: opts.Runtime,
		clock: opts.PodClock, node: a.nodes.alive, run: !opts.Idle, features: opts.Features, echoes: echoes,
		addresses: newAddresses(),
		known:     map[types.NamespacedName]*track{}, waiting: map[types.NamespacedName]map[types.NamespacedName]bool{},
		orphans: map[types.NamespacedName][]*core.Pod{}, last: map[types.NamespacedName]*core.Pod{},
		blocked: map[types.NamespacedName]bool{},
		wakes:   map[string]int{},
	}
	ro := reconciler.Options{Workers: opts.Workers, Clock: opts.Clock}
	a.podQueue = reconciler.New("node/pods", a.pods.reconcile,
		reconciler.Options{Workers: opts.Workers, Clock: opts.PodClock})
	a.nodeQueue = reconciler.New("node/nodes", a.nodes.reconcile, ro)
	a.poolQueue = reconciler.New("node/pools", a.pools.reconcile, ro)
	a.pods.queue, a.nodes.queue, a.pools.queue = a.podQueue, a.nodeQueue, a.poolQueue
	if opts.PluginsDir != "" {
		if err := a.usePlugins(opts.PluginsDir); err != nil {
			return nil, err
		}
	}
	return a, a.listen()
}

// listen registers indexes and event handlers.
func (a *Agent) listen() error {
	err := errors.Join(
		a.inf.Pods().AddIndex(client.PodsByNode, client.PodNodes),
		a.inf.ResourceSlices().AddIndex(slicesByPool,
			func(s *resourcev1.ResourceSlice) []string { return []string{poolOf(s).String()} }),
	)
	if err != nil {
		return err
	}
	a.inf.Pods().OnChange(a.pods.onPod)
	a.inf.ResourceClaims().OnChange(a.pods.onClaim)
	a.inf.ResourceSlices().OnChange(a.pools.onSlice)
	a.inf.Nodes().OnChange(a.onNode)
	return nil
}

// Run registers the fleet and manages its pods until ctx ends. The informers must have been
// started.
func (a *Agent) Run(ctx context.Context) error {
	if err := a.inf.WaitForSync(ctx); err != nil {
		a.work(ctx) // ctx has ended; the workers finish their current items
		return err
	}
	a.takeUp(a.inf.Pods().List())
	if a.drivers != nil {
		if err := a.drivers.begin(ctx); err != nil {
			return err
		}
	}
	if err := a.removeStrangers(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("remove what an earlier fleet left: %w", err)
	}
	a.expectAll()
	for name := range a.nodes.machines {
		a.nodeQueue.Add(name)
	}
	for key := range a.pools.desired {
		a.poolQueue.Add(key)
	}
	a.work(ctx)
	return nil
}

// work runs the workers of all queues, and renews the Lease, until ctx ends.
func (a *Agent) work(ctx context.Context) {
	var running sync.WaitGroup
	for _, run := range []func(context.Context) error{a.nodeQueue.Run, a.poolQueue.Run, a.podQueue.Run} {
		running.Go(func() { _ = run(ctx) }) // always nil
	}
	running.Go(func() { a.heartbeat.run(ctx) })
	if a.drivers != nil {
		running.Go(func() { a.drivers.run(ctx) })
	}
	running.Wait()
}

// Ready is closed when all nodes are registered and all devices are published for the first time.
func (a *Agent) Ready() <-chan struct{} { return a.ready }

// takeUp records the addresses and claims of the pods that an earlier agent started, before new
// ones are assigned.
func (a *Agent) takeUp(pods []*core.Pod) {
	for _, pod := range pods {
		if _, ours := a.nodes.machines[pod.Spec.NodeName]; !ours || pod.Finished() {
			continue
		}
		if pod.Status.PodIP != "" && !pod.Spec.HostNetwork {
			a.pods.addresses.record(pod.UID, pod.Status.PodIP)
		}
		if pod.Status.Phase == corev1.PodRunning {
			a.pods.adopt(pod)
		}
	}
}

func (a *Agent) removeStrangers(ctx context.Context) error {
	var failed []error
	for _, node := range a.inf.Nodes().List() {
		if _, ours := a.nodes.machines[node.Name]; !ours && node.Labels[fleet.LabelFleet] == a.fleet.Name {
			failed = append(failed, client.IgnoreNotFound(a.api.DeleteNode(ctx, node)))
		}
	}
	for _, slice := range obsoleteSlices(a.inf.ResourceSlices().List(), a.fleet.Name, a.pools.desired) {
		failed = append(failed, client.IgnoreNotFound(a.api.DeleteSlice(ctx, slice)))
	}
	return errors.Join(failed...)
}

// expectAll records what must be registered before the agent is ready.
func (a *Agent) expectAll() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for name := range a.nodes.machines {
		a.missing["node/"+name] = true
	}
	for key := range a.pools.desired {
		a.missing["pool/"+key.String()] = true
	}
	if len(a.missing) == 0 {
		close(a.ready)
	}
}

func (a *Agent) markDone(what string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.missing[what] {
		return
	}
	delete(a.missing, what)
	if len(a.missing) == 0 {
		close(a.ready)
	}
}

// onNode handles a change in the cache of nodes.
func (a *Agent) onNode(before, after *corev1.Node) {
	node := after
	if node == nil {
		a.nodes.echoes.forget("node/" + before.Name)
		node = before
	}
	if _, ours := a.nodes.machines[node.Name]; !ours {
		return
	}
	a.nodeQueue.Add(node.Name)
	if before == nil || after == nil || before.UID != after.UID {
		for _, key := range a.pools.ofNode[node.Name] {
			a.poolQueue.Add(key)
		}
	}
	if before != nil && after != nil && isStopped(before) && !isStopped(after) {
		for _, pod := range a.inf.Pods().ByIndex(client.PodsByNode, node.Name) {
			a.podQueue.Add(reconciler.KeyOf(pod))
		}
	}
}

func machinesOf(f fleet.Fleet) map[string]machine {
	out := map[string]machine{}
	for i, node := range f.Nodes() {
		out[node.Name] = machine{index: i, want: node}
	}
	return out
}

// poolsOf returns the slices of the fleet by pool, and the pools by node.
func poolsOf(f fleet.Fleet) (wanted map[poolKey][]resourcev1.ResourceSlice, ofNode map[string][]poolKey) {
	wanted, ofNode = map[poolKey][]resourcev1.ResourceSlice{}, map[string][]poolKey{}
	for _, slice := range f.Slices() {
		key := poolOf(&slice)
		if node := slice.Spec.NodeName; node != nil && wanted[key] == nil {
			ofNode[*node] = append(ofNode[*node], key)
		}
		wanted[key] = append(wanted[key], slice)
	}
	return wanted, ofNode
}
