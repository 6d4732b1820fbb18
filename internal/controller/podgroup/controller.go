package podgroup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/groups"
)

// reasonBlocked is the reason of the event on a PodGroup whose deletion is delayed.
const reasonBlocked = "DeletionBlocked"

// namedPods is the maximum number of pods that the event names.
const namedPods = 3

// podCache is the cache of pods. It must have groups.Index.
type podCache interface {
	ByIndex(index, key string) []*core.Pod
}

// groupCache is the cache of PodGroups.
type groupCache interface {
	Get(namespace, name string) (*scheduling.PodGroup, bool)
}

// groupWriter replaces the finalizers of a PodGroup, with the version that was read.
type groupWriter interface {
	SetFinalizers(ctx context.Context, group *scheduling.PodGroup, finalizers []string) error
}

// Controller manages the protection finalizer of all PodGroups.
type Controller struct {
	pods   podCache
	groups groupCache
	write  groupWriter
	events reconciler.Recorder
	queue  reconciler.Queue[types.NamespacedName]
	run    func(context.Context) error

	mu       sync.Mutex
	reported map[types.UID]bool // PodGroups with a reported delay
}

func newController(pods podCache, groups groupCache, write groupWriter, events reconciler.Recorder) *Controller {
	return &Controller{pods: pods, groups: groups, write: write, events: events, reported: map[types.UID]bool{}}
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile adds or removes the protection finalizer of one PodGroup.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	group, ok := c.groups.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	what, blocking := groups.Protect(group, c.pods.ByIndex(groups.Index, groups.IndexKey(key.Namespace, key.Name)))
	switch what {
	case groups.Add:
		return c.set(ctx, group, append(slices.Clone(group.Finalizers), scheduling.ProtectionFinalizer))
	case groups.Remove:
		return c.set(ctx, group, slices.DeleteFunc(slices.Clone(group.Finalizers), func(f string) bool {
			return f == scheduling.ProtectionFinalizer
		}))
	}
	c.report(group, blocking)
	return nil
}

func (c *Controller) set(ctx context.Context, group *scheduling.PodGroup, finalizers []string) error {
	if err := c.write.SetFinalizers(ctx, group, finalizers); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("podgroup %s/%s: finalizers: %w", group.Namespace, group.Name, err)
	}
	return nil
}

// report records an event, once for each PodGroup, with the pods that delay its deletion (F30).
func (c *Controller) report(group *scheduling.PodGroup, blocking []*core.Pod) {
	if len(blocking) == 0 {
		return
	}
	c.mu.Lock()
	known := c.reported[group.UID]
	c.reported[group.UID] = true
	c.mu.Unlock()
	if !known {
		c.events.Eventf(group, corev1.EventTypeNormal, reasonBlocked, "%s", blockedBy(blocking))
	}
}

func blockedBy(pods []*core.Pod) string {
	var names []string
	for _, pod := range pods {
		name := pod.Name
		if pod.Spec.NodeName != "" {
			name += " on node " + pod.Spec.NodeName
		}
		names = append(names, name)
	}
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), namedPods)], ", ")
	if more := len(names) - namedPods; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return "deletion waits for pods that have not finished: " + text
}

// onGroup handles a change in the cache of PodGroups.
func (c *Controller) onGroup(before, after *scheduling.PodGroup) {
	if before != nil && (after == nil || after.UID != before.UID) {
		c.mu.Lock()
		delete(c.reported, before.UID)
		c.mu.Unlock()
	}
	if after != nil && needsLook(after) {
		c.queue.Add(reconciler.KeyOf(after))
	}
}

// onPod handles a change in the cache of pods, and enqueues the PodGroup when a pod is deleted,
// finishes or is recreated.
func (c *Controller) onPod(before, after *core.Pod) {
	if before == nil || before.Finished() || after != nil && after.UID == before.UID && !after.Finished() {
		return
	}
	for _, key := range groups.IndexKeys(before) {
		namespace, name, _ := strings.Cut(key, "/")
		if group, ok := c.groups.Get(namespace, name); ok && needsLook(group) {
			c.queue.Add(types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
}

// needsLook reports whether the PodGroup is being deleted or lacks the finalizer.
func needsLook(group *scheduling.PodGroup) bool {
	return group.DeletionTimestamp != nil || !slices.Contains(group.Finalizers, scheduling.ProtectionFinalizer)
}
