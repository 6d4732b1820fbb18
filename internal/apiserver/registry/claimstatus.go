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

// claimStatus serves the status of claims, and refuses one that gives a device to two claims: each claim is an object
// of its own, so versions do not keep two schedulers from that (F64, docs/adr/0004).
type claimStatus struct {
	*part
	guard  *deviceGuard
	follow func()                                               // begins to follow who has which device, the first time that it is called
	alone  func() bool                                          // nobody else has written yet
	keep   func(w *deviceWrite, stored *resource.ResourceClaim) // see deviceWrite.keep
	stop   context.CancelFunc
}

func newClaimStatus(store *genericregistry.Store, alone func() bool) *claimStatus {
	type claims = strategy[resource.ResourceClaim, *resource.ResourceClaim]
	s := statusStrategy[resource.ResourceClaim, *resource.ResourceClaim]{store.UpdateStrategy.(claims)}
	ctx, stop := context.WithCancel(context.Background())
	c := &claimStatus{
		part:  newPart(store, s),
		alone: alone,
		keep:  func(w *deviceWrite, stored *resource.ResourceClaim) { go w.keep(ctx, stored) },
		stop:  stop,
	}
	stored, view := storedClaims{store}, newDeviceView(func(key claimKey) { go c.takeLate(ctx, key) })
	c.guard = newDeviceGuard(stored, view)
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

// settle sees to it that what was stored may stay, or takes it back. It does so for clients that do not wait for it, too. If nobody else
// has written until now, whoever does next sees it.
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

// takeBack takes from a claim the allocation that was just stored, unless somebody has written the claim since.
func (c *claimStatus) takeBack(ctx context.Context, stored *resource.ResourceClaim) error {
	return c.free(ctx, stored.Name, func(_ context.Context, now *resource.ResourceClaim) (bool, error) {
		return now.ResourceVersion == stored.ResourceVersion, nil
	})
}

// takeLate takes from a claim an allocation that came too late. The server that stored it does so itself, unless it was killed or does not
// know that it was stored; whoever is left does it then. It has told no client.
func (c *claimStatus) takeLate(ctx context.Context, key claimKey) {
	ctx, cancel := context.WithTimeout(asServer(ctx, key.namespace), unsureFor)
	defer cancel()
	view := c.guard.view
	for ctx.Err() == nil {
		err := c.free(ctx, key.name, func(ctx context.Context, now *resource.ResourceClaim) (bool, error) {
			err := view.await(ctx, versionOf(now.ResourceVersion))
			return err == nil && view.late(key), err
		})
		if err == nil || apierrors.IsNotFound(err) {
			return
		}
		klog.FromContext(ctx).Error(err, "take a device from the claim that got it last", "claim", klog.KRef(key.namespace, key.name))
		pause(ctx, lookAgain)
	}
}

// asServer is the context of a write that the server makes by itself.
func asServer(ctx context.Context, namespace string) context.Context {
	server := &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}
	return genericapirequest.WithUser(genericapirequest.WithNamespace(ctx, namespace), server)
}

// free takes the allocation from a claim when something is true of what is stored now.
func (c *claimStatus) free(ctx context.Context, name string, when func(ctx context.Context, now *resource.ResourceClaim) (bool, error)) error {
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

// claimReader reads claims as they are stored.
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
