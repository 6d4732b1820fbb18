package garbagecollector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/controller/kinds"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

const (
	// workers is the number of objects reconciled concurrently. Workers mostly wait for the server.
	workers = 10
	// orphanParallel is Controller.parallel in production.
	orphanParallel = 10
	// maxTries limits how often a write is decided again on the server's state before the object is
	// requeued.
	maxTries = 3
)

// objects accesses objects of any kind by their metadata.
type objects interface {
	// Live reads the object from the API.
	Live(ctx context.Context, kind kinds.Kind, namespace, name string) (*Object, error)
	// Delete deletes o with a precondition on its version.
	Delete(ctx context.Context, kind kinds.Kind, o *Object, policy metav1.DeletionPropagation) error
	// Patch applies a JSON merge patch.
	Patch(ctx context.Context, kind kinds.Kind, o *Object, patch []byte) error
}

// Controller collects the garbage of a server.
type Controller struct {
	graph   *Graph
	objects objects
	queue   reconciler.Queue[types.UID]
	run     func(context.Context) error
	events  reconciler.Recorder
	watcher *watcher
	// parallel is the number of concurrent requests for orphaning the dependents of one object.
	parallel int
}

// take processes the result of a change in the graph.
func (c *Controller) take(news GraphChange) {
	for _, s := range news.InvalidReferences {
		o := s.Dependent
		dependent := &corev1.ObjectReference{
			APIVersion: o.Kind.GroupVersion().String(), Kind: o.Kind.Kind, Namespace: o.Namespace, Name: o.Name, UID: o.UID,
		}
		c.events.Eventf(dependent, corev1.EventTypeWarning, "OwnerRefInvalidNamespace",
			"ownerRef [%s/%s, namespace: %s, name: %s, uid: %s] does not exist in namespace %q",
			s.Owner.APIVersion, s.Owner.Kind, o.Namespace, s.Owner.Name, s.Owner.UID, o.Namespace)
	}
	for _, uid := range news.Enqueue {
		c.queue.Add(uid)
	}
}

// Reconcile handles one object according to its owners, its dependents and its own deletion.
func (c *Controller) Reconcile(ctx context.Context, uid types.UID) error {
	o, known := c.graph.Object(uid)
	switch {
	case !known:
		return nil
	case o == nil:
		return c.verify(ctx, uid)
	case o.orphansDependents():
		return c.orphan(ctx, o)
	case o.awaitsDependents():
		return c.releaseOrWait(ctx, o)
	case o.Deleting || len(o.Owners) == 0:
		return nil
	}
	return c.collect(ctx, o)
}

// verify reads an owner that no event has shown, at all places named by its dependents. An owner of
// an unknown kind is read when the kind becomes known.
func (c *Controller) verify(ctx context.Context, owner types.UID) error {
	for _, place := range c.graph.Places(owner) {
		state, err := c.lookUp(ctx, place, owner)
		if err != nil {
			return err
		}
		if state != Absent {
			return nil // its event will arrive, or it cannot be watched
		}
	}
	c.take(c.graph.Gone(owner))
	return nil
}

// lookUp reads the object at place and compares its UID.
func (c *Controller) lookUp(ctx context.Context, place Place, uid types.UID) (OwnerState, error) {
	kind, ok := c.graph.Kind(groupKind(metav1.OwnerReference{APIVersion: place.APIVersion, Kind: place.Kind}))
	if !ok || kind.Namespaced && place.Namespace == "" {
		return Unknown, nil
	}
	namespace := ""
	if kind.Namespaced {
		namespace = place.Namespace
	}
	live, err := c.objects.Live(ctx, kind, namespace, place.Name)
	switch {
	case apierrors.IsNotFound(err) && !kinds.Unserved(err):
		return Absent, nil
	case err != nil:
		return Unknown, fmt.Errorf("look for owner %s %s/%s: %w", place.Kind, namespace, place.Name, err)
	case live.UID != uid:
		return Absent, nil
	}
	return stateOf(live), nil
}

// collect deletes o if its owners do not exist or wait for it. It uses the graph and, if o has
// changed since, the API.
func (c *Controller) collect(ctx context.Context, o *Object) error {
	return c.write(ctx, o, func(o *Object, kind kinds.Kind) error {
		if o.Deleting {
			return nil
		}
		owners, err := c.resolve(ctx, o)
		if err != nil {
			return err
		}
		action := Decide(o, owners, c.graph.Dependents(o.UID))
		switch {
		case action.Unblock:
			return c.unblock(ctx, kind, o, action)
		case action.Delete != "":
			return c.objects.Delete(ctx, kind, o, action.Delete)
		case len(action.Drop) > 0:
			return c.objects.Patch(ctx, kind, o, ownersPatch(o, action.Drop))
		}
		return nil
	})
}

// unblock deletes o after removing blockOwnerDeletion from its references.
func (c *Controller) unblock(ctx context.Context, kind kinds.Kind, o *Object, action Action) error {
	patch, changed := unblockPatch(o)
	if !changed {
		return c.objects.Delete(ctx, kind, o, action.Delete)
	}
	if err := c.objects.Patch(ctx, kind, o, patch); err != nil {
		return err
	}
	c.queue.Add(o.UID) // the next decision uses the patched object
	return nil
}

// resolve completes the owners of o by reading those that the graph does not know.
func (c *Controller) resolve(ctx context.Context, o *Object) ([]Owner, error) {
	owners := c.graph.Owners(o)
	for i, owner := range owners {
		if owner.State != Unseen {
			continue
		}
		state, err := c.lookUp(ctx, placeOf(o, owner.Ref), owner.Ref.UID)
		if err != nil {
			return nil, err
		}
		owners[i].State = state
	}
	return owners, nil
}

// releaseOrWait ends the foreground deletion of o if nothing blocks it. Otherwise it enqueues the
// blocking dependents for deletion.
func (c *Controller) releaseOrWait(ctx context.Context, o *Object) error {
	waits := false
	for _, dependent := range c.graph.Dependents(o.UID) {
		if !dependent.blocks(o.UID) {
			continue
		}
		waits = true
		if !dependent.Deleting {
			c.queue.Add(dependent.UID)
		}
	}
	if waits {
		return nil
	}
	return c.dropFinalizer(ctx, o, metav1.FinalizerDeleteDependents)
}

// orphan removes o from the owner references of its dependents, and then removes its finalizer.
func (c *Controller) orphan(ctx context.Context, o *Object) error {
	var patches errgroup.Group
	patches.SetLimit(c.parallel)
	dependents := c.graph.Dependents(o.UID)
	slices.SortFunc(dependents, func(a, b *Object) int { return cmp.Compare(a.UID, b.UID) })
	for _, dependent := range dependents {
		patches.Go(func() error {
			return c.write(ctx, dependent, func(dependent *Object, kind kinds.Kind) error {
				if _, ok := dependent.reference(o.UID); !ok {
					return nil
				}
				return c.objects.Patch(ctx, kind, dependent, ownersPatch(dependent, []types.UID{o.UID}))
			})
		})
	}
	if err := patches.Wait(); err != nil {
		return fmt.Errorf("orphan the dependents of %s %s/%s: %w", o.Kind.Kind, o.Namespace, o.Name, err)
	}
	return c.dropFinalizer(ctx, o, metav1.FinalizerOrphanDependents)
}

func (c *Controller) dropFinalizer(ctx context.Context, o *Object, finalizer string) error {
	return c.write(ctx, o, func(o *Object, kind kinds.Kind) error {
		if !slices.Contains(o.Finalizers, finalizer) {
			return nil
		}
		return c.objects.Patch(ctx, kind, o, finalizersPatch(o, finalizer))
	})
}

// write runs a write with a precondition on o's version. If o has changed, it is repeated with the
// current version; if o does not exist, nothing is left to do.
func (c *Controller) write(ctx context.Context, o *Object, do func(*Object, kinds.Kind) error) error {
	kind, ok := c.graph.Kind(o.Kind.GroupKind())
	if !ok {
		return nil // the kind and its objects no longer exist
	}
	uid := o.UID
	var err error
	for range maxTries {
		err = do(o, kind)
		if err == nil || apierrors.IsNotFound(err) {
			return nil
		}
		if !apierrors.IsConflict(err) {
			break
		}
		live, liveErr := c.objects.Live(ctx, kind, o.Namespace, o.Name)
		if apierrors.IsNotFound(liveErr) || liveErr == nil && live.UID != uid {
			return nil
		}
		if liveErr != nil {
			err = errors.Join(err, liveErr)
			break
		}
		o = live
	}
	return fmt.Errorf("%s %s/%s: %w", o.Kind.Kind, o.Namespace, o.Name, err)
}
