package replicaset

import (
	"context"
	"fmt"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/objects"
	"github.com/allot-dev/allot/internal/controller/ownership"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/controller/replica"
	"github.com/allot-dev/allot/internal/controller/workload"
)

const (
	// burst limits the pods that one pass creates or deletes.
	burst = 500
	// gatherWindow is the delay after an event of a pod, so that the pods of a burst cause a few
	// status writes, not one each.
	gatherWindow = 20 * time.Millisecond
)

// Cache is the cache of ReplicaSets. It must have ownership.Index.
type Cache interface {
	objects.Getter[*apps.ReplicaSet]
	objects.Index[*apps.ReplicaSet]
	objects.Namespaced[*apps.ReplicaSet]
}

// Source is the API kind behind the ReplicaSets: ReplicaSet, or a kind that is converted to it.
type Source struct {
	Kind   schema.GroupVersionKind
	Sets   Cache
	Server objects.Owner[*apps.ReplicaSet]
	// WithoutTerminating means that the kind has no status.terminatingReplicas.
	WithoutTerminating bool
}

// name returns the name of the kind in errors and in the log.
func (s Source) name() string { return strings.ToLower(s.Kind.Kind) }

// Controller reconciles all ReplicaSets of a source.
type Controller struct {
	Source
	pods  *workload.Pods
	clock clock.PassiveClock
	queue reconciler.Queue[types.NamespacedName]
	run   func(context.Context) error
}

// NewController returns a Controller that does not run by itself: Reconcile is called for the keys
// of the queue. OnSet and OnPod must be called for each change.
func NewController(
	source Source, pods *workload.Pods, clock clock.PassiveClock, queue reconciler.Queue[types.NamespacedName],
) *Controller {
	return &Controller{Source: source, pods: pods, clock: clock, queue: queue}
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile brings the pods and the status of one ReplicaSet to the desired state.
func (c *Controller) Reconcile(ctx context.Context, key types.NamespacedName) error {
	rs, ok := c.Sets.Get(key.Namespace, key.Name)
	if !ok {
		return nil
	}
	selector, err := metav1.LabelSelectorAsSelector(rs.Spec.Selector)
	if err != nil {
		return nil //nolint:nilerr // validation rejects such a selector
	}
	settled, wait, err := c.pods.Settled(ctx, rs, selector)
	if err != nil {
		return fmt.Errorf("%s %s: %w", c.name(), key, err)
	}
	claimed, err := c.claim(ctx, rs, selector)
	if err != nil {
		return err
	}
	pods := Sort(claimed)
	var failure error
	if !settled {
		c.queue.AddAfter(key, wait)
	} else if rs.DeletionTimestamp == nil {
		failure = c.scale(ctx, rs, pods.Active)
	}
	now := c.clock.Now()
	if err := c.writeStatus(ctx, rs, Status(rs, pods, failure, now)); err != nil {
		return err
	}
	if left, ok := replica.NextAvailability(pods.Active, rs.Spec.MinReadySeconds, now); ok {
		c.queue.AddAfter(key, left)
	}
	if failure != nil {
		return fmt.Errorf("%s %s: %w", c.name(), key, failure)
	}
	return nil
}

// claim returns the pods of the ReplicaSet, after adopting and releasing. Terminating and finished
// pods are neither adopted nor released.
func (c *Controller) claim(ctx context.Context, rs *apps.ReplicaSet, selector labels.Selector) ([]*core.Pod, error) {
	claimer := ownership.Claimer[*apps.ReplicaSet, *core.Pod]{
		Kind: c.Kind, Cache: c.pods, Live: c.Server.Live, Patch: c.pods.Patch,
		Keep: func(pod *core.Pod) bool { return !replica.Active(pod) },
	}
	claimed, err := claimer.Claim(ctx, rs, selector)
	if err != nil {
		return nil, fmt.Errorf("%s %s/%s: pods: %w", c.name(), rs.Namespace, rs.Name, err)
	}
	return claimed, nil
}

func (c *Controller) writeStatus(ctx context.Context, rs *apps.ReplicaSet, status appsv1.ReplicaSetStatus) error {
	if c.WithoutTerminating {
		status.TerminatingReplicas = nil
	}
	if sameStatus(rs.Status, status) {
		return nil
	}
	updated := *rs // other fields of the cached object are shared and only read
	updated.Status = status
	if _, err := c.Server.UpdateStatus(ctx, &updated); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("%s %s/%s: status: %w", c.name(), rs.Namespace, rs.Name, err)
	}
	return nil
}
