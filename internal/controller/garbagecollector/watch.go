package garbagecollector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/kinds"
)

const (
	// rediscover is how often discovery is read though nothing hints at a change.
	rediscover = time.Minute
	// settle is how long discovery may lag behind a CustomResourceDefinition; it is read
	// again after each wait until it shows a change.
	settle = 300 * time.Millisecond
	// settleTries bounds that.
	settleTries = 10
	// firstSync bounds the wait for the first lists; a kind that cannot be listed must not
	// stop the collection of all others.
	firstSync = 30 * time.Second
)

// watcher watches all kinds that discovery shows, each once.
type watcher struct {
	discovery kinds.Discovery
	metadata  metadata.Interface
	onKinds   func([]kinds.Kind)
	onEvent   func(kind schema.GroupVersionKind, before, after metav1.Object)
	onForget  func(schema.GroupKind)

	shared  map[schema.GroupKind]func() bool // watched through caches of the process; has it synced?
	served  map[schema.GroupKind]kinds.Kind
	watched map[schema.GroupKind]*watch
	poked   chan struct{}
	running sync.WaitGroup
}

// watch is a running informer of one kind.
type watch struct {
	resource schema.GroupVersionResource
	stop     context.CancelFunc
	synced   cache.InformerSynced
}

// poke says that discovery may have changed.
func (w *watcher) poke() {
	select {
	case w.poked <- struct{}{}:
	default:
	}
}

// start reads discovery until it succeeds and waits until the first lists are in.
func (w *watcher) start(ctx context.Context) error {
	for wait := settle; ; wait = min(2*wait, rediscover) {
		_, err := w.refresh(ctx)
		if err == nil || len(w.served) > 0 {
			break // what is missing is added later
		}
		klog.FromContext(ctx).V(2).Info("discovery", "err", err)
		if !sleep(ctx, wait) {
			return ctx.Err()
		}
	}
	bounded, cancel := context.WithTimeout(ctx, firstSync)
	defer cancel()
	var synced []cache.InformerSynced
	for _, hasSynced := range w.shared {
		synced = append(synced, hasSynced)
	}
	for _, watch := range w.watched {
		synced = append(synced, watch.synced)
	}
	if !cache.WaitForCacheSync(bounded.Done(), synced...) {
		klog.FromContext(ctx).Info("some kinds cannot be listed; their objects are looked up one by one")
	}
	return ctx.Err()
}

// run follows discovery until ctx is done.
func (w *watcher) run(ctx context.Context) {
	defer w.running.Wait()
	tick := time.NewTicker(rediscover)
	defer tick.Stop()
	for {
		tries := 1
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-w.poked:
			tries = settleTries
		}
		for range tries {
			if tries > 1 && !sleep(ctx, settle) {
				return
			}
			changed, err := w.refresh(ctx)
			if err != nil {
				klog.FromContext(ctx).V(2).Info("discovery", "err", err)
			}
			if changed {
				break
			}
		}
	}
}

// refresh starts and stops watches as discovery demands. Kinds that are missing in a
// partial answer are taken to be what they were.
func (w *watcher) refresh(ctx context.Context) (changed bool, err error) {
	list, err := kinds.List(w.discovery)
	served := map[schema.GroupKind]kinds.Kind{}
	if err != nil {
		maps.Copy(served, w.served)
	}
	for _, k := range list {
		served[k.Kind.GroupKind()] = k
	}
	changed = !maps.EqualFunc(served, w.served, func(a, b kinds.Kind) bool { return a.Resource == b.Resource })
	w.served = served
	// First: what is forgotten is looked up at once, and must not be looked for at the place where it was.
	if changed {
		w.onKinds(slices.Collect(maps.Values(served)))
	}
	for gk, watch := range w.watched {
		if served[gk].Resource != watch.resource {
			watch.stop()
			delete(w.watched, gk)
			w.onForget(gk)
		}
	}
	for gk, k := range served {
		if _, ok := w.shared[gk]; ok || w.watched[gk] != nil || !collectable(k) {
			continue
		}
		if startErr := w.watch(ctx, k); startErr != nil {
			return changed, startErr
		}
	}
	return changed, err
}

// collectable says that objects of a kind can have owners and be owners. Events cannot:
// they are many, and go by themselves.
func collectable(k kinds.Kind) bool {
	return k.Has("list", "watch") && k.Kind.Kind != "Event"
}

func (w *watcher) watch(ctx context.Context, k kinds.Kind) error {
	source := client.ListWatch(w.metadata.Resource(k.Resource), "the garbage collector: "+k.Resource.Resource)
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, w.metadata), &metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
	err := informer.SetTransform(func(obj any) (any, error) {
		if meta, ok := obj.(metav1.Object); ok {
			meta.SetManagedFields(nil)
			meta.SetAnnotations(nil)
			meta.SetLabels(nil)
		}
		return obj, nil
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.Resource, err)
	}
	registration, err := informer.AddEventHandler(handler(func(before, after metav1.Object) { w.onEvent(k.Kind, before, after) }))
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.Resource, err)
	}
	running, stop := context.WithCancel(ctx)
	w.watched[k.Kind.GroupKind()] = &watch{resource: k.Resource, stop: stop, synced: registration.HasSynced}
	w.running.Go(func() { informer.RunWithContext(running) })
	return nil
}

// handler turns an informer's calls into changes: before is nil for a new object, after
// for one that is gone.
func handler(f func(before, after metav1.Object)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { f(nil, obj.(metav1.Object)) },
		UpdateFunc: func(before, after any) { f(before.(metav1.Object), after.(metav1.Object)) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			f(obj.(metav1.Object), nil)
		},
	}
}

// sleep waits for d, and returns false when ctx ends before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
