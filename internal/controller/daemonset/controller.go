package daemonset

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/history"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/workload"
)

const (
	// burst limits the pods that one pass creates, and those that it deletes.
	burst = 250
	// gatherWindow is the delay after an event of a pod or node, so that several events cause one
	// reconcile.
	gatherWindow = 20 * time.Millisecond
)

// setCache is the cache of DaemonSets.
type setCache interface {
	objects.Getter[*apps.DaemonSet]
	objects.Namespaced[*apps.DaemonSet]
	objects.Lister[*apps.DaemonSet]
}

// Controller reconciles all DaemonSets.
type Controller struct {
	sets      setCache
	nodes     objects.Lister[*corev1.Node]
	pods      *workload.Pods
	revisions objects.Index[*appsv1.ControllerRevision]

	setServer      objects.Owner[*apps.DaemonSet]
	revisionServer history.Server

	events  reconciler.Recorder
	clock   clock.PassiveClock
	backoff *backoff
	queue   reconciler.Queue[types.NamespacedName]
	run     func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile takes the next step for one DaemonSet.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	set, ok := c.sets.Get(key.Namespace, key.Name)
	if !ok || set.DeletionTimestamp != nil {
		// pods and revisions of a DaemonSet that is being deleted are removed in any order, so that
		// there is no valid status
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		return nil //nolint:nilerr // validation rejects such a selector
	}
	settled, wait, err := c.pods.Settled(ctx, set, selector)
	if err != nil {
		return fmt.Errorf("daemonset %s: %w", key, err)
	}
	if !settled {
		c.queue.AddAfter(key, wait)
		return nil
	}
	if err := c.step(ctx, set, selector); err != nil {
		return fmt.Errorf("daemonset %s: %w", key, err)
	}
	return nil
}

func (c *Controller) step(ctx context.Context, set *apps.DaemonSet, selector labels.Selector) error {
	pods, err := c.claimPods(ctx, set, selector)
	if err != nil {
		return err
	}
	revisions, err := c.claimRevisions(ctx, set, selector)
	if err != nil {
		return err
	}
	gathered, err := c.gather(ctx, set, pods, revisions)
	if err != nil {
		return err
	}
	plan := Decide(gathered)
	hash := gathered.Hashes[len(gathered.Hashes)-1]
	if err := errors.Join(c.act(ctx, set, plan, hash), c.writeStatus(ctx, set, plan.Status)); err != nil {
		return err
	}
	if plan.Recheck > 0 {
		c.queue.AddAfter(reconciler.KeyOf(set), plan.Recheck)
	}
	return c.forget(ctx, gathered, revisions)
}

// claimPods returns the pods of the set, after adopting and releasing.
func (c *Controller) claimPods(
	ctx context.Context, set *apps.DaemonSet, selector labels.Selector,
) ([]*core.Pod, error) {
	claimer := ownership.Claimer[*apps.DaemonSet, *core.Pod]{
		Kind: kind, Cache: c.pods, Live: c.setServer.Live, Patch: c.pods.Patch,
	}
	claimed, err := claimer.Claim(ctx, set, selector)
	if err != nil {
		return nil, fmt.Errorf("pods: %w", err)
	}
	return claimed, nil
}

func (c *Controller) claimRevisions(
	ctx context.Context, set *apps.DaemonSet, selector labels.Selector,
) ([]*appsv1.ControllerRevision, error) {
	claimer := ownership.Claimer[*apps.DaemonSet, *appsv1.ControllerRevision]{
		Kind: kind, Cache: c.revisions, Live: c.setServer.Live, Patch: c.revisionServer.Patch,
	}
	claimed, err := claimer.Claim(ctx, set, selector)
	if err != nil {
		return nil, fmt.Errorf("controllerrevisions: %w", err)
	}
	return claimed, nil
}

// gather ensures that the set's template has a revision, and returns the input of Decide.
func (c *Controller) gather(
	ctx context.Context, set *apps.DaemonSet, pods []*core.Pod, revisions []*appsv1.ControllerRevision,
) (Gathered, error) {
	now := c.clock.Now()
	g := Gathered{Set: set, Nodes: c.nodes.List(), Pods: pods, Wait: c.backoff.remaining(set, now), Now: now}
	parent := history.Parent{Owner: set, Kind: kind, Template: &set.Spec.Template, HashLabel: hashLabel}
	if set.Status.CollisionCount != nil {
		parent.Collisions = *set.Status.CollisionCount
	}
	current, err := history.Ensure(ctx, c.revisionServer, parent, revisions)
	if err != nil {
		return Gathered{}, err
	}
	g.Collisions = current.Collisions
	for _, revision := range current.Same {
		g.Hashes = append(g.Hashes, history.Hash(revision, hashLabel))
	}
	return g, nil
}
