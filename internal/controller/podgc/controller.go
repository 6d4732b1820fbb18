package podgc

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// DefaultQuarantine is the time for which a node must be missing before its pods are deleted, as in
// Kubernetes: a kubelet may register its node again.
const DefaultQuarantine = 40 * time.Second

// Key identifies all pods of a node, or one pod without a node.
type Key struct {
	Node           string
	Namespace, Pod string
}

// podCache is the cache of pods. It must have client.PodsByNode.
type podCache interface {
	Get(namespace, name string) (*core.Pod, bool)
	ByIndex(index, key string) []*core.Pod
}

// nodeCache is the cache of nodes.
type nodeCache interface {
	Get(namespace, name string) (*corev1.Node, bool)
}

// podWriter writes pods.
type podWriter interface {
	UpdatePodStatus(ctx context.Context, pod *core.Pod) error
	// DeletePod deletes the pod without a grace period, with a UID precondition.
	DeletePod(ctx context.Context, pod *core.Pod) error
}

// nodeReader reads nodes from the API.
type nodeReader interface {
	NodeExists(ctx context.Context, name string) (bool, error)
}

// Controller deletes lost pods.
type Controller struct {
	pods       podCache
	nodes      nodeCache
	write      podWriter
	live       nodeReader
	quarantine time.Duration
	clock      clock.PassiveClock
	queue      reconciler.Queue[Key]
	run        func(context.Context) error

	mu      sync.Mutex
	missing map[string]time.Time // time since which a node with pods is missing, by name
}

// Run deletes lost pods until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// onNode handles a change in the cache of nodes.
func (c *Controller) onNode(before, after *corev1.Node) {
	switch {
	case after == nil:
		c.queue.Add(Key{Node: before.Name})
	case before == nil:
		c.endQuarantine(after.Name)
	case isOutOfService(after):
		c.queue.Add(Key{Node: after.Name})
	}
}

// onPod handles a change in the cache of pods.
func (c *Controller) onPod(_, after *core.Pod) {
	if after == nil {
		return
	}
	name, deleting := after.Spec.NodeName, after.DeletionTimestamp != nil
	if name == "" {
		if deleting {
			c.queue.Add(Key{Namespace: after.Namespace, Pod: after.Name})
		}
		return
	}
	if node, ok := c.nodes.Get("", name); !ok || deleting && isOutOfService(node) {
		c.queue.Add(Key{Node: name})
	}
}

// Reconcile checks the pods of one node, or one pod without a node.
func (c *Controller) Reconcile(ctx context.Context, key Key) error {
	if key.Node != "" {
		return c.reconcileNode(ctx, key)
	}
	pod, ok := c.pods.Get(key.Namespace, key.Pod)
	if !ok || pod.Spec.NodeName != "" {
		return nil
	}
	return c.carryOut(ctx, pod, Decide(pod, Node{}, c.quarantine))
}

func (c *Controller) reconcileNode(ctx context.Context, key Key) error {
	pods := c.pods.ByIndex(client.PodsByNode, key.Node)
	if len(pods) == 0 {
		c.endQuarantine(key.Node)
		return nil
	}
	node, err := c.look(ctx, key.Node)
	if err != nil {
		return err
	}
	var wait time.Duration
	var errs []error
	for _, pod := range pods {
		verdict := Decide(pod, node, c.quarantine)
		errs = append(errs, c.carryOut(ctx, pod, verdict))
		wait = max(wait, verdict.Wait)
	}
	if wait > 0 {
		c.queue.AddAfter(key, wait)
	}
	return errors.Join(errs...)
}

// look returns the state of a node, from the cache if it exists there, and otherwise from the API.
func (c *Controller) look(ctx context.Context, name string) (Node, error) {
	if node, ok := c.nodes.Get("", name); ok {
		c.endQuarantine(name)
		return Node{Exists: true, OutOfService: isOutOfService(node)}, nil
	}
	exists, err := c.live.NodeExists(ctx, name)
	if err != nil {
		return Node{}, fmt.Errorf("node %s: %w", name, err)
	}
	if exists {
		c.endQuarantine(name)
		return Node{Exists: true}, nil // the cache will show it
	}
	return Node{MissingFor: c.missingFor(name)}, nil
}

// missingFor returns how long a node has been missing, which begins with the first call.
func (c *Controller) missingFor(name string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	since, ok := c.missing[name]
	if !ok {
		since = c.clock.Now()
		c.missing[name] = since
	}
	return c.clock.Since(since)
}

// endQuarantine ends the quarantine of a node that exists or has no pods.
func (c *Controller) endQuarantine(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.missing, name)
}

// carryOut sets the phase Failed, so that controllers that count pods see the failure, and deletes
// the pod.
func (c *Controller) carryOut(ctx context.Context, pod *core.Pod, verdict Verdict) error {
	if !verdict.Delete {
		return nil
	}
	if failed, changed := Failed(pod, verdict.Disrupts, c.clock.Now()); changed {
		err := c.write.UpdatePodStatus(ctx, failed)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("pod %s/%s: mark as failed: %w", pod.Namespace, pod.Name, err)
		}
	}
	// A conflict means that the UID differs: the pod was recreated.
	err := c.write.DeletePod(ctx, pod)
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("pod %s/%s: delete: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
