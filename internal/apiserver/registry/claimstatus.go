package registry

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/klog/v2"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// claimStatus serves the status of claims, and rejects a status that allocates a device to a second
// claim: claims are separate objects, so that resource versions do not prevent this between two
// schedulers (F64, docs/adr/0004).
type claimStatus struct {
	*part
	guard *deviceGuard
	// starts to watch the allocated devices, at the first call
	follow func()
	alone  func() bool                                          // no other server has written yet
	keep   func(w *deviceWrite, stored *resource.ResourceClaim) // see deviceWrite.keep
	stop   context.CancelFunc
}

func newClaimStatus(store *genericregistry.Store, alone func() bool, refused func()) *claimStatus {
	type claims = strategy[resource.ResourceClaim, *resource.ResourceClaim]
	s := statusStrategy[resource.ResourceClaim, *resource.ResourceClaim]{store.UpdateStrategy.(claims)}
	ctx, stop := context.WithCancel(context.Background())
	c := &claimStatus{
		part:  newPart(store, s),
		alone: alone,
		keep:  func(w *deviceWrite, stored *resource.ResourceClaim) { go w.endWhenShown(ctx, stored) },
		stop:  stop,
	}
	stored, view := storedClaims{store}, newDeviceView(func(key claimKey) { go c.takeLate(ctx, key) })
	c.guard = newDeviceGuard(stored, view)
	if refused != nil {
		c.guard.refused = refused
	}
	c.follow = sync.OnceFunc(func() { go view.run(ctx, stored) })
	return c
}

// Destroy implements rest.Storage.
func (c *claimStatus) Destroy() { c.stop() }

// Update implements rest.Updater.
func (c *claimStatus) Update(
	ctx context.Context, name string, info rest.UpdatedObjectInfo,
	create rest.ValidateObjectFunc, update rest.ValidateObjectUpdateFunc, force bool, options *metav1.UpdateOptions,
) (runtime.Object, bool, error) {
	c.follow()
	w := &deviceWrite{guard: c.guard, dry: len(options.DryRun) > 0}
	check := func(ctx context.Context, obj, old runtime.Object) error {
		if err := w.reserve(ctx, obj.(*resource.ResourceClaim), old.(*resource.ResourceClaim)); err != nil || update == nil {
			return err
		}
		return update(ctx, obj, old)
	}
	out, created, err := c.part.Update(ctx, name, info, create, check, force, options)
	switch {
	case err == nil:
		if err := c.settle(ctx, w, out.(*resource.ResourceClaim)); err != nil {
			return nil, false, err
		}
	case surelyNotStored(err):
		w.end()
	default:
		w.abandon()
	}
	return out, created, err
}

// settle ensures that the stored claim is valid, or reverts it, even if the client does not wait
// for the response. If no other server has written until now, the next one that writes sees this
// write.
func (c *claimStatus) settle(ctx context.Context, w *deviceWrite, stored *resource.ResourceClaim) error {
	if len(w.gained) == 0 {
		return nil
	}
	if c.alone() {
		c.keep(w, stored)
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	settling, cancel := context.WithTimeout(ctx, unsureFor)
	defer cancel()
	refused := w.settle(settling, stored)
	if refused == nil {
		return nil
	}
	taking, cancel := context.WithTimeout(ctx, unsureFor)
	defer cancel()
	if err := c.takeBack(taking, stored); err != nil {
		return err
	}
	return refused
}

// takeBack removes the allocation that was just stored, unless the claim has been written since.
func (c *claimStatus) takeBack(ctx context.Context, stored *resource.ResourceClaim) error {
	return c.deallocateIf(ctx, stored.Name, func(_ context.Context, now *resource.ResourceClaim) (bool, error) {
		return now.ResourceVersion == stored.ResourceVersion, nil
	})
}

// takeLate removes an allocation that came too late. The server that stored it does so itself,
// unless it was killed or does not know that it was stored; then any other server does. No client
// has received the allocation.
func (c *claimStatus) takeLate(ctx context.Context, key claimKey) {
	ctx, cancel := context.WithTimeout(asServer(ctx, key.namespace), unsureFor)
	defer cancel()
	view := c.guard.view
	for ctx.Err() == nil {
		err := c.deallocateIf(ctx, key.name, func(ctx context.Context, now *resource.ResourceClaim) (bool, error) {
			err := view.await(ctx, versionOf(now.ResourceVersion))
			return err == nil && view.late(key), err
		})
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		klog.FromContext(ctx).Error(
			err,
			"Deallocate the claim that was allocated a device last",
			"claim",
			klog.KRef(key.namespace, key.name),
		)
		pause(ctx, lookAgain)
	}
}

// asServer returns the context for a write by the server itself.
func asServer(ctx context.Context, namespace string) context.Context {
	server := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	return genericapirequest.WithUser(genericapirequest.WithNamespace(ctx, namespace), server)
}

// deallocateIf removes the allocation from a claim if a condition holds for the stored version.
func (c *claimStatus) deallocateIf(
	ctx context.Context, name string, when func(ctx context.Context, now *resource.ResourceClaim) (bool, error),
) error {
	edit := func(ctx context.Context, _, now runtime.Object) (runtime.Object, error) {
		claim := now.(*resource.ResourceClaim).DeepCopy()
		yes, err := when(ctx, claim)
		if yes {
			claim.Status = resource.ResourceClaimStatus{}
		}
		return claim, err
	}
	_, _, err := c.part.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, edit),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return err
}

type claimKey struct {
	namespace, name string
}

func keyOf(c *resource.ResourceClaim) claimKey { return claimKey{c.Namespace, c.Name} }

// claimReader reads claims from the storage.
type claimReader interface {
	all(ctx context.Context) (*resource.ResourceClaimList, error)
	get(ctx context.Context, key claimKey) (*resource.ResourceClaim, error)
	watch(ctx context.Context, version string) (watch.Interface, error)
}

// storedClaims reads claims from a store.
type storedClaims struct {
	store *genericregistry.Store
}

func (s storedClaims) all(ctx context.Context) (*resource.ResourceClaimList, error) {
	list, err := s.store.List(genericapirequest.WithNamespace(ctx, ""), &internalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	return list.(*resource.ResourceClaimList), nil
}

func (s storedClaims) get(ctx context.Context, key claimKey) (*resource.ResourceClaim, error) {
	obj, err := s.store.Get(genericapirequest.WithNamespace(ctx, key.namespace), key.name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return obj.(*resource.ResourceClaim), nil
}

func (s storedClaims) watch(ctx context.Context, version string) (watch.Interface, error) {
	return s.store.Watch(genericapirequest.WithNamespace(ctx, ""), &internalversion.ListOptions{ResourceVersion: version})
}
