package client

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// Informer is the cache of one kind.
type Informer[T Object] struct {
	shared cache.SharedIndexInformer
	synced *handlersSynced
	absent bool // the server does not serve the kind, so that there is nothing to wait for
}

// handlersSynced tracks whether all handlers have processed the first list. A synced cache does not
// imply that, because handlers run asynchronously.
type handlersSynced struct {
	mu       sync.Mutex
	handlers []cache.ResourceEventHandlerRegistration
}

func (h *handlersSynced) add(r cache.ResourceEventHandlerRegistration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handlers = append(h.handlers, r)
}

func (h *handlersSynced) haveAllSynced() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, r := range h.handlers {
		if !r.HasSynced() {
			return false
		}
	}
	return true
}

// lister is the part of a client that an informer needs.
type lister[L runtime.Object] interface {
	List(ctx context.Context, opts metav1.ListOptions) (L, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// byName lists and watches objects of a name; the empty name means all.
type byName[L runtime.Object] struct {
	lister[L]
	name string
}

func (n byName[L]) List(ctx context.Context, opts metav1.ListOptions) (L, error) {
	return n.lister.List(ctx, n.restrict(opts))
}

func (n byName[L]) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return n.lister.Watch(ctx, n.restrict(opts))
}

func (n byName[L]) restrict(opts metav1.ListOptions) metav1.ListOptions {
	if n.name != "" {
		opts.FieldSelector = fields.OneTermEqualSelector(metav1.ObjectNameField, n.name).String()
	}
	return opts
}

// ListWatch returns the ListWatch for an informer. It waits for an unreachable server; what names
// the objects in the log.
func ListWatch[L runtime.Object](c lister[L], what string) *cache.ListWatch {
	return &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
			return reach(ctx, what, func() (runtime.Object, error) { return c.List(ctx, opts) })
		},
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return reach(ctx, what, func() (watch.Interface, error) { return c.Watch(ctx, opts) })
		},
	}
}

func newInformer[T Object, L runtime.Object](c lister[L], example T) *Informer[T] {
	source := ListWatch(c, fmt.Sprintf("%T", example))
	return &Informer[T]{
		shared: cache.NewSharedIndexInformer(source, example, 0,
			cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc}),
		synced: &handlersSynced{},
	}
}

// Get returns an object from the cache. The namespace of cluster-scoped objects is "".
func (i *Informer[T]) Get(namespace, name string) (T, bool) {
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	obj, exists, err := i.shared.GetIndexer().GetByKey(key)
	if err != nil || !exists {
		var none T
		return none, false
	}
	return obj.(T), true
}

// List returns all objects in no particular order.
func (i *Informer[T]) List() []T { return typed[T](i.shared.GetIndexer().List()) }

// InNamespace returns the objects of one namespace in no particular order.
func (i *Informer[T]) InNamespace(namespace string) []T {
	return i.ByIndex(cache.NamespaceIndex, namespace)
}

// AddIndex adds an index. It must be called before Start. An object is found under each key
// returned by keys. If an index with this name exists, nothing changes, so that components can
// share it.
func (i *Informer[T]) AddIndex(name string, keys func(T) []string) error {
	if _, exists := i.shared.GetIndexer().GetIndexers()[name]; exists {
		return nil
	}
	err := i.shared.AddIndexers(cache.Indexers{name: func(obj any) ([]string, error) { return keys(obj.(T)), nil }})
	if err != nil {
		return fmt.Errorf("add index %s: %w", name, err)
	}
	return nil
}

// ByIndex returns the objects with a key of an index, in no particular order. It panics if the
// index does not exist.
func (i *Informer[T]) ByIndex(name, key string) []T {
	objs, err := i.shared.GetIndexer().ByIndex(name, key)
	if err != nil {
		panic(err)
	}
	return typed[T](objs)
}

// Reached returns the resource version up to which the cache is complete, or "" if that is unknown.
func (i *Informer[T]) Reached() string { return i.shared.GetIndexer().LastStoreSyncResourceVersion() }

// OnChange calls f for each change, in order, on one goroutine: old is nil for a new object, and
// now is nil for a deleted one.
func (i *Informer[T]) OnChange(f func(old, now T)) {
	var none T
	registration, err := i.shared.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { f(none, obj.(T)) },
		UpdateFunc: func(old, obj any) { f(old.(T), obj.(T)) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			f(obj.(T), none)
		},
	})
	// an error means that the informer has stopped, so that nothing changes any more
	if err == nil {
		i.synced.add(registration)
	}
}

// HasSynced reports whether the cache and all handlers have processed the first list.
func (i *Informer[T]) HasSynced() bool {
	return i.absent || i.shared.HasSynced() && i.synced.haveAllSynced()
}

func typed[T any](objs []any) []T {
	out := make([]T, len(objs))
	for i, obj := range objs {
		out[i] = obj.(T)
	}
	return out
}
