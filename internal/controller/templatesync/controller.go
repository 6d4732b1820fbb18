package templatesync

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// settle is the delay of a status, so that it sums up several changes.
	settle = 500 * time.Millisecond
	// awaited is the time in which the cache must show an own write.
	awaited = 10 * time.Second
	// retryRejected is the time after which a rejected content is tried again: the rules of the server
	// may have changed.
	retryRejected = 5 * time.Minute
)

// Caches has the objects that the controller reads.
type Caches interface {
	// Namespace returns the metadata of a namespace.
	Namespace(name string) (*metav1.ObjectMeta, bool)
	Namespaces() []*metav1.ObjectMeta
	Originals() []*Original
	// Copy returns the ResourceClaimTemplate with this name, whether or not it is a copy.
	Copy(namespace, name string) (*Copy, bool)
	CopiesIn(namespace string) []*Copy
}

// TemplateWriter writes ResourceClaimTemplates.
type TemplateWriter interface {
	// Create creates a template, or with dryRun only validates it.
	Create(ctx context.Context, template *resourcev1.ResourceClaimTemplate, dryRun bool) (metav1.Object, error)
	// Repair applies marks to a template, unless it has changed.
	Repair(ctx context.Context, seen *Copy, marks metav1.ObjectMeta) error
	// Delete deletes a template, unless it has changed.
	Delete(ctx context.Context, seen *Copy) error
}

// StatusWriter writes the status of originals.
type StatusWriter interface {
	WriteStatus(ctx context.Context, o *Original, status allotv1alpha1.ClusterResourceClaimTemplateStatus) error
}

// Meter counts what the controller does.
type Meter interface {
	Wrote(verb string, ok bool)
	Stands(template string, wanted, inStep, conflicting int32)
	Gone(template string)
	Synced(took time.Duration)
}

// Controller synchronizes the namespaces. The queue has names of namespaces, statuses has names of
// originals.
type Controller struct {
	cache     Caches
	templates TemplateWriter
	originals StatusWriter
	events    reconciler.Recorder
	meter     Meter
	clock     clock.PassiveClock
	queue     reconciler.Queue[string]
	statuses  reconciler.Queue[string]

	written      *expectations.Tracker // own writes that the cache may not show yet, by namespace
	own          *ownSpecs
	verdicts     *verdicts
	dryRunLock   sync.Mutex // held during a dry run of a content
	board        *standingBoard
	waitSince    *waitSince
	inSyncEvents *inSyncEvents
}

func newController(cache Caches, templates TemplateWriter, originals StatusWriter, events reconciler.Recorder,
	meter Meter, clock clock.PassiveClock) *Controller {
	c := &Controller{
		cache: cache, templates: templates, originals: originals, events: events, meter: meter, clock: clock,
		own: newOwnSpecs(), verdicts: newVerdicts(clock), board: newBoard(), waitSince: newWaitSince(clock),
		inSyncEvents: newInSyncEvents(),
	}
	c.written = expectations.NewTracker(c.inCache, clock, awaited)
	return c
}

func (c *Controller) inCache(namespace, name string, uid types.UID) (present, terminating bool) {
	found, ok := c.cache.Copy(namespace, name)
	if !ok || found.UID != uid {
		return false, false
	}
	return true, found.DeletionTimestamp != nil
}

// Reconcile synchronizes one namespace.
func (c *Controller) Reconcile(ctx context.Context, name string) error {
	namespace, ok := c.cache.Namespace(name)
	if !ok {
		c.waitSince.drop(name)
		c.enqueueStatuses(c.board.drop(name))
		return nil
	}
	if shown, wait := c.written.Satisfied(types.UID(name)); !shown {
		c.queue.AddAfter(name, wait)
		return nil
	}
	plan := Decide(namespace, c.cache.Originals(), c.markOwnSpecs(c.cache.CopiesIn(name)))
	var failures []error
	for _, step := range plan.Steps {
		standing, err := c.take(ctx, namespace, step)
		if err != nil {
			failures = append(failures, err)
		}
		if standing != nil {
			standing.hash = step.Original.Hash
			plan.Standings[step.Original.UID] = *standing
		}
	}
	if len(plan.Steps) > 0 {
		// If the watch breaks, an object that is deleted before the cache shows it causes no event.
		c.queue.AddAfter(name, awaited)
	}
	c.observeSyncTime(name, plan)
	c.enqueueStatuses(c.board.put(name, plan.Standings))
	return errors.Join(failures...)
}

// markOwnSpecs marks the copies with a spec that this process wrote: their managed fields may have been
// removed.
func (c *Controller) markOwnSpecs(copies []*Copy) []*Copy {
	for i, found := range copies {
		if !found.OwnSpec && c.own.has(found.UID) {
			copies[i] = &Copy{ObjectMeta: found.ObjectMeta, OwnSpec: true}
		}
	}
	return copies
}

// observeSyncTime records how long it took until a namespace with writes was in sync.
func (c *Controller) observeSyncTime(namespace string, plan Plan) {
	if len(plan.Steps) > 0 {
		c.waitSince.setWrote(namespace)
		return
	}
	for _, s := range plan.Standings {
		if s.State == Pending {
			return
		}
	}
	if took, wrote := c.waitSince.drop(namespace); wrote {
		c.meter.Synced(took)
	}
}

// enqueueStatuses enqueues the statuses of originals with changed standings.
func (c *Controller) enqueueStatuses(news []types.UID) {
	if len(news) == 0 {
		return
	}
	changed := map[types.UID]bool{}
	for _, uid := range news {
		changed[uid] = true
	}
	for _, o := range c.cache.Originals() {
		if changed[o.UID] {
			c.statuses.AddAfter(o.Name, settle)
		}
	}
}

// enqueueNamespace enqueues a namespace.
func (c *Controller) enqueueNamespace(namespace string) {
	c.waitSince.start(namespace)
	c.queue.Add(namespace)
}

// onNamespace handles a change in the cache of namespaces.
func (c *Controller) onNamespace(before, after *metav1.ObjectMeta) {
	if after == nil {
		c.enqueueNamespace(before.Name)
		return
	}
	if before == nil || before.UID != after.UID || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		!maps.Equal(before.Labels, after.Labels) {
		c.enqueueNamespace(after.Name)
	}
}

// onOriginal handles a change in the cache of originals.
func (c *Controller) onOriginal(before, after *Original) {
	if after == nil {
		c.meter.Gone(before.Name)
		c.verdicts.drop(before.UID)
		c.inSyncEvents.drop(before.UID)
	} else {
		c.statuses.AddAfter(after.Name, settle)
	}
	if before != nil && after != nil && before.UID == after.UID && before.Generation == after.Generation &&
		(before.DeletionTimestamp == nil) == (after.DeletionTimestamp == nil) {
		return
	}
	for _, namespace := range c.cache.Namespaces() {
		c.enqueueNamespace(namespace.Name)
	}
}

// onCopy handles a change in the cache of templates.
func (c *Controller) onCopy(before, after *Copy) {
	last := after
	if last == nil {
		last = before
		c.own.drop(before.UID)
	}
	expectations.Observe(c.written, before, after)
	c.enqueueNamespace(last.Namespace)
}
