package statefulset

import (
	"context"
	"errors"
	"fmt"
	"slices"
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
	// burst limits the pods that one pass creates.
	burst = 500
	// gatherWindow is the delay after an event of a pod, so that several events cause one
	// reconcile.
	gatherWindow = 10 * time.Millisecond
	// hashLabel is the label with the hash of a revision.
	hashLabel = "controller.kubernetes.io/hash"
)

// setCache is the cache of StatefulSets.
type setCache interface {
	objects.Getter[*apps.StatefulSet]
	objects.Namespaced[*apps.StatefulSet]
}

// claimServer writes volume claims.
type claimServer interface {
	objects.Creator[*corev1.PersistentVolumeClaim]
	objects.Updater[*corev1.PersistentVolumeClaim]
}

// Controller reconciles all StatefulSets.
type Controller struct {
	sets      setCache
	pods      *workload.Pods
	claims    objects.Getter[*corev1.PersistentVolumeClaim]
	revisions objects.Index[*appsv1.ControllerRevision]

	setServer      objects.Owner[*apps.StatefulSet]
	claimServer    claimServer
	revisionServer history.Server

	events reconciler.Recorder
	clock  clock.PassiveClock
	queue  reconciler.Queue[types.NamespacedName]
	run    func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile takes the next step for one StatefulSet.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	set, ok := c.sets.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(set.Spec.Selector)
	if err != nil || selector.Empty() {
		return nil //nolint:nilerr // validation rejects such a selector
	}
	settled, wait, err := c.pods.Settled(ctx, set, selector)
	if err != nil {
		return fmt.Errorf("statefulset %s: %w", key, err)
	}
	if !settled {
		c.queue.AddAfter(key, wait)
		return nil
	}
	if err := c.step(ctx, set, selector); err != nil {
		return fmt.Errorf("statefulset %s: %w", key, err)
	}
	return nil
}

func (c *Controller) step(ctx context.Context, set *apps.StatefulSet, selector labels.Selector) error {
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
	if err := errors.Join(c.act(ctx, set, plan), c.writeStatus(ctx, set, plan.Status)); err != nil {
		return err
	}
	if plan.Recheck > 0 {
		c.queue.AddAfter(reconciler.KeyOf(set), plan.Recheck)
	}
	return c.forget(ctx, gathered, revisions)
}

// claimPods returns the pods of the set, after adopting and releasing.
func (c *Controller) claimPods(
	ctx context.Context, set *apps.StatefulSet, selector labels.Selector,
) ([]*core.Pod, error) {
	claimer := ownership.Claimer[*apps.StatefulSet, *core.Pod]{
		Kind: kind, Cache: c.pods, Live: c.setServer.Live, Patch: c.pods.Patch, Member: isMember,
	}
	claimed, err := claimer.Claim(ctx, set, selector)
	if err != nil {
		return nil, fmt.Errorf("pods: %w", err)
	}
	return claimed, nil
}

func (c *Controller) claimRevisions(
	ctx context.Context, set *apps.StatefulSet, selector labels.Selector,
) ([]*appsv1.ControllerRevision, error) {
	claimer := ownership.Claimer[*apps.StatefulSet, *appsv1.ControllerRevision]{
		Kind: kind, Cache: c.revisions, Live: c.setServer.Live, Patch: c.revisionServer.Patch,
	}
	claimed, err := claimer.Claim(ctx, set, selector)
	if err != nil {
		return nil, fmt.Errorf("controllerrevisions: %w", err)
	}
	return claimed, nil
}

// gather ensures that the template of the set has a revision, and returns the input of Decide.
func (c *Controller) gather(
	ctx context.Context, set *apps.StatefulSet, pods []*core.Pod, revisions []*appsv1.ControllerRevision,
) (Gathered, error) {
	g := Gathered{Set: set, Pods: pods, Claims: c.claimsOf(set, pods), Now: c.clock.Now()}
	if set.Status.CollisionCount != nil {
		g.Collisions = *set.Status.CollisionCount
	}
	g.Current.Name, g.Update.Name = set.Status.CurrentRevision, set.Status.UpdateRevision
	if set.DeletionTimestamp != nil {
		return g, nil // its revisions may be deleted already, and are not created again
	}
	current, err := history.Ensure(ctx, c.revisionServer, history.Parent{
		Owner: set, Kind: kind, Template: &set.Spec.Template, HashLabel: hashLabel, Collisions: g.Collisions,
	}, revisions)
	if err != nil {
		return Gathered{}, err
	}
	g.Collisions = current.Collisions
	g.Update = Revision{Name: current.Revision().Name, Template: &set.Spec.Template}
	g.Current, err = currentRevision(set, g.Update, revisions)
	return g, err
}

// currentRevision returns the revision named by the status, or the new one if the status names none
// or it was deleted.
func currentRevision(set *apps.StatefulSet, update Revision, revisions []*appsv1.ControllerRevision) (Revision, error) {
	i := slices.IndexFunc(revisions,
		func(r *appsv1.ControllerRevision) bool { return r.Name == set.Status.CurrentRevision })
	if i < 0 || revisions[i].Name == update.Name {
		return update, nil
	}
	template, err := history.Template(revisions[i])
	return Revision{Name: revisions[i].Name, Template: template}, err
}

// claimsOf returns the volume claims of existing pods and of those that may be created.
func (c *Controller) claimsOf(set *apps.StatefulSet, pods []*core.Pod) map[string]*corev1.PersistentVolumeClaim {
	claims := map[string]*corev1.PersistentVolumeClaim{}
	look := func(ordinal int) {
		for _, name := range claimNames(set, ordinal) {
			if claim, ok := c.claims.Get(set.Namespace, name); ok {
				claims[name] = claim
			}
		}
	}
	wanted := map[int]*core.Pod{}
	for _, pod := range pods {
		switch ordinal, ok := ordinalOf(set, pod); {
		case ok && isWanted(set, ordinal):
			wanted[ordinal] = pod
		case ok:
			look(ordinal)
		}
	}
	for _, ordinal := range slotsOf(set, wanted) {
		look(ordinal)
	}
	return claims
}
