package nodetaint

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/eviction"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// Options are the options of a Controller. The zero value is valid.
type Options struct {
	// PerSecond is the maximum number of deleted pods per second. Default 100.
	PerSecond int
	// Clock is used for all times. Default: the wall clock.
	Clock clock.WithTicker
	// Evicted is called for each deleted pod. It may be nil.
	Evicted func()
}

func (o Options) withDefaults() Options {
	if o.PerSecond <= 0 {
		o.PerSecond = 100
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Evicted == nil {
		o.Evicted = func() {}
	}
	return o
}

// podCache is the cache of pods. It must have client.PodsByNode.
type podCache interface {
	Get(namespace, name string) (*core.Pod, bool)
	ByIndex(index, key string) []*core.Pod
}

type nodeCache interface {
	Get(namespace, name string) (*corev1.Node, bool)
}

// Controller evicts pods from tainted nodes.
type Controller struct {
	pods      podCache
	nodes     nodeCache
	evictor   *eviction.Evictor
	sightings *sightings
	run       func(context.Context) error
}

func newController(pods podCache, nodes nodeCache, config eviction.Config) *Controller {
	c := &Controller{pods: pods, nodes: nodes, sightings: &sightings{clock: config.Clock, byNode: map[string][]sighting{}}}
	config.Pods, config.Judge, config.Finished = pods, c.judge, true
	// The reasons are those of Kubernetes.
	config.Words = eviction.Words{
		Event: "TaintManagerEviction", Condition: "DeletionByTaintManager",
		CalledOff: "no taint of its node evicts the pod any more",
	}
	c.evictor = eviction.New(config)
	return c
}

// Run evicts until ctx is done.
func (c *Controller) Run(ctx context.Context) error { return c.run(ctx) }

func (c *Controller) judge(pod *core.Pod) (eviction.Verdict, bool) {
	node, ok := c.nodes.Get("", pod.Spec.NodeName)
	if !ok {
		return eviction.Verdict{}, false
	}
	return judge(pod, node, func(t *corev1.Taint) time.Time { return c.sightings.addedAt(node.Name, t) })
}

// onPod enqueues a pod that was assigned to a tainted node, or has other tolerations.
func (c *Controller) onPod(before, after *core.Pod) {
	c.evictor.OnPod(before, after)
	if after == nil {
		return
	}
	if before != nil && before.UID == after.UID && before.Spec.NodeName == after.Spec.NodeName &&
		apiequality.Semantic.DeepEqual(before.Spec.Tolerations, after.Spec.Tolerations) {
		return
	}
	if node, ok := c.nodes.Get("", after.Spec.NodeName); ok && len(noExecute(node)) > 0 {
		c.evictor.Queue.Add(reconciler.KeyOf(after))
	}
}

// onNode enqueues the pods of a node with changed taints.
func (c *Controller) onNode(before, after *corev1.Node) {
	if after == nil {
		c.sightings.setTaints(before.Name, nil)
		return
	}
	taints := noExecute(after)
	if before == nil && len(taints) == 0 || before != nil && apiequality.Semantic.DeepEqual(noExecute(before), taints) {
		return
	}
	c.sightings.setTaints(after.Name, taints)
	for _, pod := range c.pods.ByIndex(client.PodsByNode, after.Name) {
		c.evictor.Queue.Add(reconciler.KeyOf(pod))
	}
}
