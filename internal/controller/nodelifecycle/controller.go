package nodelifecycle

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/fleet"
)

const (
	// DefaultGracePeriod is the time after which a node without a sign of life is lost.
	DefaultGracePeriod = 50 * time.Second
	// startupGrace is the same for a node that never reported.
	startupGrace = 60 * time.Second
	// period is the interval between passes over all nodes.
	period = 5 * time.Second
)

// Options configures a Controller. The zero value is valid.
type Options struct {
	// GracePeriod is the time after which a node without a sign of life is lost. Default:
	// DefaultGracePeriod.
	GracePeriod time.Duration
	// Clock is the clock to use. Default: the wall clock.
	Clock clock.WithTicker
}

func (o Options) withDefaults() Options {
	if o.GracePeriod <= 0 {
		o.GracePeriod = DefaultGracePeriod
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	return o
}

// period returns an interval that is short enough for the grace period.
func (o Options) period() time.Duration { return min(period, o.GracePeriod/2) }

type nodeCache interface {
	Get(namespace, name string) (*corev1.Node, bool)
	List() []*corev1.Node
}

// leaseCache is a cache of the Leases in kube-node-lease.
type leaseCache interface {
	Get(namespace, name string) (*coordinationv1.Lease, bool)
	List() []*coordinationv1.Lease
}

// podCache is a cache of pods with the index client.PodsByNode.
type podCache interface {
	ByIndex(index, key string) []*core.Pod
}

// server reads and writes the API directly. Writes have the resource version on which they are
// based.
type server interface {
	// Reachable returns an error if the server does not answer.
	Reachable(ctx context.Context) error
	UpdateNode(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	UpdateNodeStatus(ctx context.Context, node *corev1.Node) (*corev1.Node, error)
	// MarkNotReady sets the condition Ready of a pod to False.
	MarkNotReady(ctx context.Context, pod *core.Pod, now time.Time) error
}

// Controller maintains the conditions and taints of nodes.
type Controller struct {
	opts   Options
	nodes  nodeCache
	leases leaseCache
	pods   podCache
	server server
	events reconciler.Recorder
	queue  reconciler.Queue[string]
	ready  func(context.Context) error // returns when the caches are filled
	work   func(context.Context) error

	mu           sync.Mutex // guards the fields below
	health       map[string]*health
	unresponsive map[string]bool    // nodes without a sign of life in the grace period
	evict        map[string]bool    // nodes that may get a NoExecute taint
	limits       map[string]*bucket // by zone
	cutOff       bool               // no node is ready
	last         time.Time          // time of the last pass
}

func newController(
	nodes nodeCache, leases leaseCache, pods podCache, srv server, events reconciler.Recorder, opts Options,
) *Controller {
	return &Controller{
		opts: opts, nodes: nodes, leases: leases, pods: pods, server: srv, events: events,
		health: map[string]*health{}, unresponsive: map[string]bool{}, evict: map[string]bool{}, limits: map[string]*bucket{},
	}
}

// Run runs the controller until ctx ends.
func (c *Controller) Run(ctx context.Context) error {
	var running sync.WaitGroup
	running.Go(func() { c.watch(ctx) })
	err := c.work(ctx)
	running.Wait()
	return err
}

// watch passes over all nodes periodically.
func (c *Controller) watch(ctx context.Context) {
	if c.ready(ctx) != nil {
		return // ctx has ended
	}
	ticker := c.opts.Clock.NewTicker(c.opts.period())
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			c.pass(ctx)
		}
	}
}

// pass evaluates all nodes. It writes nothing: nodes that need a write are put into the queue.
func (c *Controller) pass(ctx context.Context) {
	if err := c.server.Reachable(ctx); err != nil {
		klog.FromContext(ctx).V(2).Info("Not evaluating nodes while the API server does not answer", "err", err)
		return
	}
	now := c.opts.Clock.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	blind := !c.last.IsZero() && now.Sub(c.last) > 3*c.opts.period()
	c.last = now
	nodes := c.nodes.List()
	c.observe(nodes, now, blind)
	zones := c.count(nodes)
	c.setCutOff(nodes, zones, now)
	c.allowEvictions(nodes, zones, now)
	for _, node := range nodes {
		if c.needsWork(node) {
			c.queue.Add(node.Name)
		}
	}
}

// count counts the nodes by zone.
func (c *Controller) count(nodes []*corev1.Node) map[string]*zone {
	zones := map[string]*zone{}
	for _, node := range nodes {
		h := c.health[node.Name]
		z := zones[h.zone]
		if z == nil {
			z = &zone{}
			zones[h.zone] = z
		}
		if h.ready == corev1.ConditionTrue && !c.unresponsive[node.Name] {
			z.ready++
		} else {
			z.notReady++
		}
	}
	return zones
}

// observe records the signs of life. blind means that the controller could not see them for some
// time; all nodes count as alive then.
func (c *Controller) observe(nodes []*corev1.Node, now time.Time, blind bool) {
	leases := readLeases(c.leases.List())
	for _, node := range nodes {
		if blind {
			if h := c.health[node.Name]; h != nil {
				h.probe = now
			}
		}
		c.observeNode(node, now, leases)
	}
	if len(c.health) > len(nodes) {
		c.forget(nodes)
	}
}

// forget removes the state of nodes that no longer exist.
func (c *Controller) forget(nodes []*corev1.Node) {
	there := make(map[string]bool, len(nodes))
	for _, node := range nodes {
		there[node.Name] = true
	}
	for name := range c.health {
		if !there[name] {
			delete(c.health, name)
			delete(c.unresponsive, name)
			delete(c.evict, name)
		}
	}
}

// observeNode records the signs of life of one node.
func (c *Controller) observeNode(node *corev1.Node, now time.Time, leases leaseTimes) {
	h := c.health[node.Name]
	if h == nil {
		h = &health{}
		c.health[node.Name] = h
	}
	h.observe(node, now, leases)
	if h.isUnresponsive(now, c.opts.GracePeriod, max(startupGrace, c.opts.GracePeriod)) {
		c.unresponsive[node.Name] = true
	} else if len(c.unresponsive) > 0 {
		delete(c.unresponsive, node.Name)
	}
}

// leasesOf returns the Leases that belong to one node.
func (c *Controller) leasesOf(node *corev1.Node) leaseTimes {
	var found []*coordinationv1.Lease
	for _, name := range []string{node.Name, node.Annotations[fleet.AnnotationLease]} {
		if lease, ok := c.leases.Get(corev1.NamespaceNodeLease, name); ok && name != "" {
			found = append(found, lease)
		}
	}
	return readLeases(found)
}

// setCutOff records whether no node is ready. When some are ready again, the others get a full
// grace period.
func (c *Controller) setCutOff(nodes []*corev1.Node, zones map[string]*zone, now time.Time) {
	was := c.cutOff
	c.cutOff = len(zones) > 0
	for _, z := range zones {
		c.cutOff = c.cutOff && z.allNotReady()
	}
	if c.cutOff == was {
		return
	}
	clear(c.evict)
	if c.cutOff {
		return
	}
	for _, node := range nodes {
		c.health[node.Name].probe = now
		delete(c.unresponsive, node.Name)
	}
}

// allowEvictions selects the nodes that may get a NoExecute taint.
func (c *Controller) allowEvictions(nodes []*corev1.Node, zones map[string]*zone, now time.Time) {
	if c.cutOff {
		return
	}
	var waiting []*corev1.Node
	for _, node := range nodes {
		h := c.health[node.Name]
		switch status := h.ready; {
		case status == corev1.ConditionTrue, status == "", status == corev1.ConditionUnknown && !c.unresponsive[node.Name]:
			if len(c.evict) > 0 {
				delete(c.evict, node.Name)
			}
			// A node that reports again shows its own condition.
		case !hasEvictingTaint(node) && !c.evict[node.Name]:
			waiting = append(waiting, node)
		}
	}
	slices.SortFunc(waiting, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	for _, node := range waiting {
		name := c.health[node.Name].zone
		if c.limits[name] == nil {
			c.limits[name] = &bucket{}
		}
		if c.limits[name].take(now, zones[name].rate()) {
			c.evict[node.Name] = true
		}
	}
}

// needsWork reports whether the conditions or taints of a node must change. The lock must be held.
func (c *Controller) needsWork(node *corev1.Node) bool {
	if len(c.unresponsive) > 0 && c.unresponsive[node.Name] && !isUnknown(node) {
		return true
	}
	if c.health[node.Name].plain {
		return false
	}
	_, changed := desiredTaints(node, c.evicting(node.Name))
	return changed
}

func (c *Controller) evicting(name string) eviction {
	switch {
	case c.cutOff:
		return removeTaint
	case len(c.evict) > 0 && c.evict[name]:
		return addTaint
	}
	return keepTaint
}

// state returns whether the last pass found the node lost, and what may be done with its NoExecute
// taints. The node may have given a sign of life since.
func (c *Controller) state(node *corev1.Node) (lost bool, evicting eviction) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unresponsive[node.Name] {
		c.observeNode(node, c.opts.Clock.Now(), c.leasesOf(node))
	}
	return c.unresponsive[node.Name], c.evicting(node.Name)
}

// reconcile writes the conditions and taints that a node should have.
func (c *Controller) reconcile(ctx context.Context, name string) error {
	node, ok := c.nodes.Get("", name)
	if !ok {
		return nil
	}
	lost, evicting := c.state(node)
	now := c.opts.Clock.Now()
	if lost && !isUnknown(node) {
		written, err := c.server.UpdateNodeStatus(ctx, withUnknownConditions(node, now))
		if err != nil {
			return client.IgnoreNotFound(fmt.Errorf("node %s: conditions: %w", name, err))
		}
		if readiness(node) == corev1.ConditionTrue {
			c.events.Eventf(reference(node), corev1.EventTypeNormal, "NodeNotReady", "Node %s status is now: NodeNotReady", name)
		}
		node = written
	}
	if taints, changed := desiredTaints(node, evicting); changed {
		want := node.DeepCopy()
		want.Spec.Taints = taints
		written, err := c.server.UpdateNode(ctx, want)
		if err != nil {
			return client.IgnoreNotFound(fmt.Errorf("node %s: taints: %w", name, err))
		}
		node = written
	}
	if readiness(node) != corev1.ConditionUnknown {
		return nil
	}
	return c.markPods(ctx, name, now)
}

// markPods sets the condition Ready of the pods of a lost node to False.
func (c *Controller) markPods(ctx context.Context, node string, now time.Time) error {
	for _, pod := range c.pods.ByIndex(client.PodsByNode, node) {
		ready := slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
		if !ready {
			continue
		}
		if err := c.server.MarkNotReady(ctx, pod, now); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("pod %s/%s: not ready: %w", pod.Namespace, pod.Name, err)
		}
		c.events.Eventf(pod, corev1.EventTypeWarning, "NodeNotReady", "Node is not ready")
	}
	return nil
}

// reference returns the reference for events about a node, which have the name as UID.
func reference(node *corev1.Node) *corev1.ObjectReference {
	return &corev1.ObjectReference{Kind: "Node", APIVersion: "v1", Name: node.Name, UID: types.UID(node.Name)}
}

// onNode handles an event of the node cache.
func (c *Controller) onNode(_, after *corev1.Node) {
	if after == nil {
		return
	}
	_, evicting := c.state(after)
	if _, changed := desiredTaints(after, evicting); changed {
		c.queue.Add(after.Name)
	}
}
