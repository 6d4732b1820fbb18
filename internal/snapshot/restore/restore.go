package restore

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/snapshot"
)

// parallelWrites limits the concurrent writes of objects of one kind.
const parallelWrites = 32

// Restore writes the objects of the Snapshot.
func Restore(ctx context.Context, set *client.Set, plain kubernetes.Interface, snap *snapshot.Snapshot) error {
	w := &writer{set: set, plain: plain, ids: newIdentities()}
	o := &snap.Objects
	for _, write := range []func() error{
		func() error { return w.cluster(ctx, o) },
		func() error { return w.accounts(ctx, o) },
		func() error { return w.controllers(ctx, o) },
		func() error { return w.pods(ctx, o) },
		func() error { return w.claims(ctx, o.Claims) },
		func() error { return w.limits(ctx, o) }, // last, so that they refuse none of the others
	} {
		if err := write(); err != nil {
			return err
		}
	}
	return nil
}

// writer writes objects, and knows the UIDs that they have got.
type writer struct {
	set   *client.Set
	plain kubernetes.Interface
	ids   *identities
}

// creator is the part of a client that creates.
type creator[T any] interface {
	Create(ctx context.Context, object T, opts metav1.CreateOptions) (T, error)
}

// createAll creates objects of one kind. after is called for each that did not exist, with its
// original.
func createAll[T client.Object, C creator[T]](
	ctx context.Context,
	w *writer,
	objects []T,
	of func(namespace string) C,
	after func(ctx context.Context, created, original T) error,
) error {
	tasks, ctx := errgroup.WithContext(ctx)
	tasks.SetLimit(parallelWrites)
	for _, original := range objects {
		tasks.Go(func() error {
			object, _ := original.DeepCopyObject().(T)
			w.ids.prepare(object)
			created, err := of(object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{})
			switch {
			case apierrors.IsAlreadyExists(err):
				return nil
			case err != nil:
				return fmt.Errorf("create %T %s/%s: %w", object, object.GetNamespace(), object.GetName(), err)
			}
			w.ids.add(original.GetUID(), created.GetUID())
			if after == nil {
				return nil
			}
			if err := after(ctx, created, original); err != nil {
				return fmt.Errorf("status of %T %s/%s: %w", object, object.GetNamespace(), object.GetName(), err)
			}
			return nil
		})
	}
	return tasks.Wait()
}

// ignoreNamespace makes a client of a kind without namespaces one that takes a namespace.
func ignoreNamespace[C any](of func() C) func(string) C { return func(string) C { return of() } }
