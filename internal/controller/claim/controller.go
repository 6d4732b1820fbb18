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
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/controller/reconciler"
	"github.com/allot-dev/allot/internal/features"
)

// deletedSize is how many deleted pods and PodGroups are remembered; a consumer beyond
// them is looked up live.
const deletedSize = 16384

// Cache is a cache of one kind.
type Cache[T any] interface {
	Get(namespace, name string) (T, bool)
	ByIndex(index, key string) []T
}

// Lookup is a cache of which only single objects are read.
type Lookup[T any] interface {
	Get(namespace, name string) (T, bool)
}

// PodCache is the cache of pods. It reports the resource version up to which it shows everything.
type PodCache interface {
	Cache[*core.Pod]
	Reached() string
}

// Caches are what the controller reads. Pods must have groups.Index and claims.PodIndex,
// Claims claimsByUser.
type Caches struct {
	Pods             PodCache
	Groups           Lookup[*scheduling.PodGroup]
	Claims           Cache[*resource.ResourceClaim]
	Templates        Lookup[*resource.ResourceClaimTemplate]
	ClusterTemplates Lookup[*resourcev1alpha3.ClusterResourceClaimTemplate]
}

// OwnerWriter writes status.resourceClaimStatuses of this very object, whole.
type OwnerWriter interface {
	RecordPodClaims(ctx context.Context, pod *core.Pod, records []corev1.PodResourceClaimStatus) error
	RecordGroupClaims(ctx context.Context, group *scheduling.PodGroup, records []corev1.PodResourceClaimStatus) error
}

// ClaimWriter writes claims. Updates fail when the claim has changed meanwhile. (Four
// methods, because a claim has these four writes.)
type ClaimWriter interface {
	CreateClaim(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	UpdateClaimStatus(ctx context.Context, claim *resource.ResourceClaim) (*resource.ResourceClaim, error)
	UpdateClaim(ctx context.Context, claim *resource.ResourceClaim) error
	DeleteClaim(ctx context.Context, claim *resource.ResourceClaim) error
}

// LiveReader reads past the caches.
type LiveReader interface {
	LivePod(ctx context.Context, namespace, name string) (*core.Pod, error)
	LiveGroup(ctx context.Context, namespace, name string) (*scheduling.PodGroup, error)
	LiveClaim(ctx context.Context, namespace, name string) (*resource.ResourceClaim, error)
	// LivePods lists the pods of a namespace as they are now, and returns the version of the list.
	LivePods(ctx context.Context, namespace string) (pods []*core.Pod, version string, err error)
}

// ForeignReader looks for consumers of kinds that the controller does not watch.
type ForeignReader interface {
	// ForeignGone is true only when the object certainly does not exist, with that UID.
	ForeignGone(ctx context.Context, namespace string, ref resourcev1.ResourceClaimConsumerReference) (bool, error)
}

// Server is what the controller writes to and reads live.
type Server struct {
	Owners  OwnerWriter
	Claims  ClaimWriter
	Live    LiveReader
	Foreign ForeignReader
}

// Meter counts claims by the kind of their owner.
type Meter interface {
	// Generated is told how long it took from hearing of the owner, or of what it lacked.
	Generated(owner string, took time.Duration)
	Refused(owner string)
}

// Controller reconciles pods, PodGroups and claims.
type Controller struct {
	cache  Caches
	server Server
	events reconciler.Recorder
	meter  Meter
	on     features.Set
	queue  reconciler.Queue[Key]
	run    func(context.Context) error

	heard   *heard     // since when owners could have their claims
	made    *made      // own claims that the cache may lack
	waiting *waiting   // who waits for which template
	said    *said      // problems that were told of
	idle    *idle      // allocated claims without consumers
	deleted *lru.Cache // UIDs of pods, PodGroups and other consumers that are gone
	stood   *stood     // since when consumers of other kinds have stood in claims
	looked  *looked    // when consumers of other kinds were looked for
	listed  *listed    // pods that were read past the cache
}

func newController(cache Caches, server Server, events reconciler.Recorder, meter Meter, clock clock.PassiveClock) *Controller {
	return &Controller{
		cache: cache, server: server, events: events, meter: meter, heard: newHeard(clock),
		made: newMade(clock), waiting: newWaiting(), said: newSaid(), idle: newIdle(clock), deleted: lru.New(deletedSize),
		stood: newStood(clock), looked: newLooked(clock), listed: &listed{},
	}
}

// Run reconciles until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	return c.run(ctx)
}

// Reconcile brings what key names to what it should be.
func (c *Controller) Reconcile(ctx context.Context, key Key) error {
	switch key.Kind {
	case Pod:
		return c.reconcilePod(ctx, key)
	case PodGroup:
		return c.reconcileGroup(ctx, key)
	}
	return c.reconcileClaim(ctx, key)
}
