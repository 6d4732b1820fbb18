package objects

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/client"
)

// Reader reads an object from the API, not from a cache.
type Reader[T any] interface {
	Live(ctx context.Context, namespace, name string) (T, error)
}

// Selector reads the objects that match a selector from the API, as they are now.
type Selector[T any] interface {
	LiveMatching(ctx context.Context, namespace string, selector labels.Selector) ([]T, error)
}

// Creator creates objects.
type Creator[T any] interface {
	Create(ctx context.Context, obj T) (T, error)
}

// Updater replaces objects, if they have not changed.
type Updater[T any] interface {
	Update(ctx context.Context, obj T) (T, error)
}

// StatusUpdater replaces the status of objects, if they have not changed.
type StatusUpdater[T any] interface {
	UpdateStatus(ctx context.Context, obj T) (T, error)
}

// Patcher applies strategic merge patches.
type Patcher[T any] interface {
	Patch(ctx context.Context, obj T, strategicMerge []byte) error
}

// Deleter deletes objects with a UID precondition, so that a recreated object is not deleted.
type Deleter[T any] interface {
	Delete(ctx context.Context, obj T) error
}

// Owner is what a controller needs of the kind whose status it writes: before an object is adopted,
// its owner is read from the API.
type Owner[T any] interface {
	Reader[T]
	StatusUpdater[T]
}

// Server implements the interfaces of this file with a client.
type Server[T client.Object, L runtime.Object] struct {
	in func(namespace string) client.Client[T, L]
}

// On returns the Server of a kind: On(set.Pods).
func On[T client.Object, L runtime.Object](in func(namespace string) client.Client[T, L]) Server[T, L] {
	return Server[T, L]{in}
}

// Live implements Reader.
func (s Server[T, L]) Live(ctx context.Context, namespace, name string) (T, error) {
	return s.in(namespace).Get(ctx, name, metav1.GetOptions{})
}

// LiveMatching implements Selector. Without a resource version the server reads as of now, not from
// a cache that may be older.
func (s Server[T, L]) LiveMatching(ctx context.Context, namespace string, selector labels.Selector) ([]T, error) {
	list, err := s.in(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector.String()})
	if err != nil {
		return nil, err
	}
	var found []T
	return found, meta.EachListItem(list, func(obj runtime.Object) error {
		found = append(found, obj.(T))
		return nil
	})
}

// Create implements Creator.
func (s Server[T, L]) Create(ctx context.Context, obj T) (T, error) {
	return s.in(obj.GetNamespace()).Create(ctx, obj, metav1.CreateOptions{})
}

// Update implements Updater.
func (s Server[T, L]) Update(ctx context.Context, obj T) (T, error) {
	return s.in(obj.GetNamespace()).Update(ctx, obj, metav1.UpdateOptions{})
}

// UpdateStatus implements StatusUpdater.
func (s Server[T, L]) UpdateStatus(ctx context.Context, obj T) (T, error) {
	return s.in(obj.GetNamespace()).UpdateStatus(ctx, obj, metav1.UpdateOptions{})
}

// Patch implements Patcher.
func (s Server[T, L]) Patch(ctx context.Context, obj T, strategicMerge []byte) error {
	_, err := s.in(obj.GetNamespace()).Patch(ctx, obj.GetName(), types.StrategicMergePatchType, strategicMerge,
		metav1.PatchOptions{})
	return err
}

// Delete implements Deleter.
func (s Server[T, L]) Delete(ctx context.Context, obj T) error {
	return s.in(obj.GetNamespace()).Delete(ctx, obj.GetName(), metav1.DeleteOptions{
		Preconditions: metav1.NewUIDPreconditions(string(obj.GetUID())),
	})
}
