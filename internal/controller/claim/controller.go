package claim

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	"github.com/allot-dev/allot/api/scheduling/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
)

// deletedSize is the number of deleted pods and PodGroups that are remembered. Other consumers are
// read from the API.
const deletedSize = 16384

// Cache is a cache of one kind.
type Cache[T any] interface {
	Get(namespace, name string) (T, bool)
	ByIndex(index, key string) []T
}

// Lookup is a cache from which only single objects are read.
type Lookup[T any] interface {
	Get(namespace, name string) (T, bool)
}

// PodCache is the cache of pods, with the resource version up to which it is complete.
type PodCache interface {
	Cache[*core.Pod]
	Reached() string
}

// Caches has the caches of the controller. Pods must have groups.Index and claims.PodIndex, Claims
// claimsByUser, and Groups and Trees, if there are trees, groups.ParentIndex.
type Caches struct {
	Pods             PodCache
	Groups           Cache[*scheduling.PodGroup]
	Trees            Cache[*v1alpha3.CompositePodGroup] // nil if the feature is off
	Claims           Cache[*resource.ResourceClaim]
	Templates        Lookup[*resource.ResourceClaimTemplate]
	ClusterTemplates Lookup[*resourcev1alpha3.ClusterResourceClaimTemplate]
}

// OwnerWriter replaces status.resourceClaimStatuses of an object with the same UID.
type OwnerWriter interface {
	RecordPodClaims(ctx context.Context, pod *core.Pod, records []corev1.PodResourceClaimStatus) error
	RecordGroupClaims(ctx context.Context, group *scheduling.PodGroup, records []corev1.PodResourceClaimStatus) error
	RecordTreeClaims(ctx context.Context, tree *v1alpha3.CompositePodGroup, records []corev1.PodResourceClaimStatus) error
}

// Writer writes claims. Updates fail if the claim has changed. (Four methods, because a claim
// has these four writes.)
type Writer interface {
	CreateClaim(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	UpdateClaimStatus(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	UpdateClaim(ctx context.Context, claim *resource.ResourceClaim) error
	DeleteClaim(ctx context.Context, claim *resource.ResourceClaim) error
}

// LiveReader reads from the API, not from caches.
type LiveReader interface {
	LivePod(ctx context.Context, namespace, name string) (*core.Pod, error)
	LiveGroup(ctx context.Context, namespace, name string) (*scheduling.PodGroup, error)
	LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error)
	// LivePods lists the current pods of a namespace, and returns the version of the list.
	LivePods(ctx context.Context, namespace string) (pods []*core.Pod, version string, err error)
}

// ForeignReader finds consumers of kinds that the controller does not watch.
type ForeignReader interface {
	// ForeignGone returns true only if no object with this UID exists.
	ForeignGone(ctx context.Context, namespace string, ref resourcev1.ResourceClaimConsumerReference) (bool, error)
}

// Server combines the writers and readers of the controller.
type Server struct {
	Owners  OwnerWriter
	Claims  Writer
	Live    LiveReader
	Foreign ForeignReader
}

// Meter counts claims by the kind of their owner: "pod", "podgroup" or "compositepodgroup".
type Meter interface {
	// Generated records the time since the controller saw the owner, or what the owner was missing.
	// adminAccess is whether the claim has a request with adminAccess.
	Generated(owner string, adminAccess bool, took time.Duration)
	Refused(owner string, adminAccess bool)
}

// Controller reconciles pods, PodGroups, CompositePodGroups and claims.
type Controller struct {
	cache    Caches
	server   Server
	events   reconciler.Recorder
	meter    Meter
	features features.Set
	// scheduler is the name of the scheduler that creates claims with their devices, or "".
	scheduler string
	clock     clock.PassiveClock
	queue     reconciler.Queue[Key]
	run       func(context.Context) error

	waitSince      *waitSince      // since when owners could have their claims
	pending        *pendingCreates // created claims that the cache may not show yet
	waiting        *waiting        // owners that wait for a template
	reported       *eventDeduper   // reported problems
	idle           *idle           // allocated claims without consumers
	deleted        *lru.Cache      // UIDs of deleted pods, PodGroups and other consumers
	foreignSince   *foreignSince   // since when consumers of other kinds are in reservedFor
	foreignChecked *foreignChecked // when consumers of other kinds were last checked
	listed         *listed         // pods that were read from the API
}

func newController(
	cache Caches, server Server, events reconciler.Recorder, meter Meter, clock clock.PassiveClock,
) *Controller {
	return &Controller{
		cache: cache, server: server, events: events, meter: meter, waitSince: newWaitSince(clock),
		clock: clock, pending: newPendingCreates(clock),
		waiting: newWaiting(), reported: newEventDeduper(), idle: newIdle(clock), deleted: lru.New(deletedSize),
		foreignSince: newForeignSince(clock), foreignChecked: newForeignChecked(clock), listed: &listed{},
	}
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile reconciles the object named by key.
func (c *Controller) Reconcile(ctx context.Context, key Key) error {
	switch key.Kind {
	case Pod:
		return c.reconcilePod(ctx, key)
	case PodGroup:
		return c.reconcileGroup(ctx, key)
	case Tree:
		return c.reconcileTree(ctx, key)
	}
	return c.reconcileClaim(ctx, key)
}
