package deployment

import (
	"context"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// gatherWindow is the delay after an event of a ReplicaSet, so that several events cause one
// reconcile.
const gatherWindow = 10 * time.Millisecond

// deploymentCache is the cache of Deployments.
type deploymentCache interface {
	objects.Getter[*apps.Deployment]
	objects.Namespaced[*apps.Deployment]
}

// setServer writes ReplicaSets, and reads them from the API.
type setServer interface {
	objects.Reader[*apps.ReplicaSet]
	objects.Creator[*apps.ReplicaSet]
	objects.Updater[*apps.ReplicaSet]
	objects.Patcher[*apps.ReplicaSet]
	objects.Deleter[*apps.ReplicaSet]
}

// Controller reconciles all Deployments.
type Controller struct {
	deployments deploymentCache
	sets        objects.Index[*apps.ReplicaSet]
	pods        objects.Index[*core.Pod]
	server      objects.Owner[*apps.Deployment]
	setServer   setServer
	events      reconciler.Recorder
	clock       clock.PassiveClock
	queue       reconciler.Queue[types.NamespacedName]
	run         func(context.Context) error
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile takes the next step of one Deployment's rollout.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	d, ok := c.deployments.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(d.Spec.Selector)
	if err != nil || selector.Empty() {
		return nil //nolint:nilerr // validation rejects such a selector
	}
	sets, err := c.claim(ctx, d, selector)
	if err != nil {
		return err
	}
	plan, err := Decide(Gathered{Deployment: d, Sets: sets, PodsLeft: c.podsLeft(d, sets), Now: c.clock.Now()})
	if err != nil {
		return err
	}
	if err := c.write(ctx, d, plan); err != nil {
		return fmt.Errorf("deployment %s: %w", key, err)
	}
	if plan.Recheck > 0 {
		c.queue.AddAfter(key, plan.Recheck)
	}
	return nil
}

// claim returns the ReplicaSets of d, after adopting and releasing.
func (c *Controller) claim(
	ctx context.Context, d *apps.Deployment, selector labels.Selector,
) ([]*apps.ReplicaSet, error) {
	claimer := ownership.Claimer[*apps.Deployment, *apps.ReplicaSet]{
		Kind: kind, Cache: c.sets, Live: c.server.Live, Patch: c.setServer.Patch,
	}
	claimed, err := claimer.Claim(ctx, d, selector)
	if err != nil {
		return nil, fmt.Errorf("deployment %s/%s: replicasets: %w", d.Namespace, d.Name, err)
	}
	return claimed, nil
}

// podsLeft returns the sets with unfinished pods. Only Recreate waits for them.
func (c *Controller) podsLeft(d *apps.Deployment, sets []*apps.ReplicaSet) map[string]bool {
	if d.Spec.Strategy.Type != appsv1.RecreateDeploymentStrategyType {
		return nil
	}
	left := map[string]bool{}
	for _, rs := range sets {
		left[rs.Name] = slices.ContainsFunc(c.pods.ByIndex(ownership.Index, string(rs.UID)), func(pod *core.Pod) bool {
			return !pod.Finished()
		})
	}
	return left
}

// write carries out a plan. The status is written last, because it reports what was done.
func (c *Controller) write(ctx context.Context, d *apps.Deployment, plan Plan) error {
	if plan.Create != nil {
		if err := c.create(ctx, d, plan.Create); err != nil {
			return err
		}
	}
	for _, u := range plan.Update {
		if _, err := c.setServer.Update(ctx, u.Set); err != nil {
			return fmt.Errorf("update replicaset %s: %w", u.Set.Name, err)
		}
		c.reportScaling(d, u.Set, u.From)
	}
	for _, rs := range plan.Delete {
		if err := c.setServer.Delete(ctx, rs); err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("delete replicaset %s: %w", rs.Name, err)
		}
	}
	if !plan.Changed {
		return nil
	}
	if _, err := c.server.UpdateStatus(ctx, plan.Deployment); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("status: %w", err)
	}
	return nil
}

func (c *Controller) reportScaling(d *apps.Deployment, rs *apps.ReplicaSet, from int32) {
	to, direction := sizeOf(rs), "up"
	if from == to {
		return
	}
	if from > to {
		direction = "down"
	}
	c.events.Eventf(d, corev1.EventTypeNormal, "ScalingReplicaSet", "Scaled %s replica set %s from %d to %d", direction,
		rs.Name, from, to)
}

// create creates the set for a new template. If its name is taken, either the cache is behind an
// earlier creation, or another template has the same hash.
func (c *Controller) create(ctx context.Context, d *apps.Deployment, rs *apps.ReplicaSet) error {
	_, err := c.setServer.Create(ctx, rs)
	switch {
	case err == nil:
		c.reportScaling(d, rs, 0)
		return nil
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return err
	case apierrors.IsAlreadyExists(err):
		return c.resolveTaken(ctx, d, rs, err)
	}
	message := fmt.Sprintf("Failed to create new replica set %q: %v", rs.Name, err)
	c.events.Eventf(d, corev1.EventTypeWarning, reasonCreateError, "%s", message)
	if failed, changed := CreateFailed(d, message, c.clock.Now()); changed {
		// The error of the creation matters; the condition is written again later.
		_, _ = c.server.UpdateStatus(ctx, failed)
	}
	return err
}

// resolveTaken handles a ReplicaSet name that is taken. If that ReplicaSet belongs to the Deployment
// and has the same template, the cache is outdated; otherwise the collision count is raised, so that
// the next name has another hash. The returned error causes a retry.
func (c *Controller) resolveTaken(ctx context.Context, d *apps.Deployment, rs *apps.ReplicaSet, taken error) error {
	live, err := c.setServer.Live(ctx, rs.Namespace, rs.Name)
	if err != nil {
		return fmt.Errorf("replicaset %s exists, but: %w", rs.Name, err)
	}
	if metav1.IsControlledBy(live, d) && sameTemplate(&live.Spec.Template, &rs.Spec.Template) {
		return fmt.Errorf("replicaset %s is not in the cache yet: %w", rs.Name, taken)
	}
	if _, err := c.server.UpdateStatus(ctx, Collided(d)); err != nil {
		return fmt.Errorf("count the hash collision of replicaset %s: %w", rs.Name, err)
	}
	return fmt.Errorf("hash collision: %w", taken)
}
