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
	// rediscover is the interval of discovery without any sign of a change.
	rediscover = time.Minute
	// settle is the delay between retries of discovery after a change of a
	// CustomResourceDefinition, which discovery may show late.
	settle = 300 * time.Millisecond
	// settleTries limits these retries.
	settleTries = 10
	// firstSync limits the wait for the first lists. A kind that cannot be listed must not prevent
	// the collection of others.
	firstSync = 30 * time.Second
)

// watcher watches all kinds found by discovery.
type watcher struct {
	discovery kinds.Discovery
	metadata  metadata.Interface
	onKinds   func([]kinds.Kind)
	onEvent   func(kind schema.GroupVersionKind, before, after metav1.Object)
	onForget  func(schema.GroupKind)

	// HasSynced of kinds watched through caches of the process
	shared  map[schema.GroupKind]func() bool
	served  map[schema.GroupKind]kinds.Kind
	watched map[schema.GroupKind]*watch
	changed chan struct{}
	running sync.WaitGroup
}

// watch is a running informer of one kind.
type watch struct {
	resource schema.GroupVersionResource
	stop     context.CancelFunc
	synced   cache.InformerSynced
}

// signal signals that discovery may have changed.
func (w *watcher) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// start retries discovery until it succeeds, and waits for the first lists.
func (w *watcher) start(ctx context.Context) error {
	for wait := settle; ; wait = min(2*wait, rediscover) {
		_, err := w.refresh(ctx)
		if err == nil || len(w.served) > 0 {
			break // missing kinds are added later
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
		case <-w.changed:
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

// refresh starts and stops watches after discovery. Kinds that are missing in a partial result are
// assumed to be unchanged.
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
	// Before Forget, which causes reads that must not use the former kinds.
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
		if _, ok := w.shared[gk]; ok || w.watched[gk] != nil || !isCollectable(k) {
			continue
		}
		if startErr := w.watch(ctx, k); startErr != nil {
			return changed, startErr
		}
	}
	return changed, err
}

// isCollectable reports whether objects of a kind can have owners and be owners. Events are excluded
// because there are many, and they expire.
func isCollectable(k kinds.Kind) bool {
	return k.Has("list", "watch") && k.Kind.Kind != "Event"
}

func (w *watcher) watch(ctx context.Context, k kinds.Kind) error {
	source := client.ListWatch(w.metadata.Resource(k.Resource), "the garbage collector: "+k.Resource.Resource)
	informer := cache.NewSharedIndexInformer(cache.ToListWatcherWithWatchListSemantics(source, w.metadata),
		&metav1.PartialObjectMetadata{}, 0, cache.Indexers{})
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
	registration, err := informer.AddEventHandler(
		handler(func(before, after metav1.Object) { w.onEvent(k.Kind, before, after) }),
	)
	if err != nil {
		return fmt.Errorf("watch %s: %w", k.Resource, err)
	}
	running, stop := context.WithCancel(ctx)
	w.watched[k.Kind.GroupKind()] = &watch{resource: k.Resource, stop: stop, synced: registration.HasSynced}
	w.running.Go(func() { informer.RunWithContext(running) })
	return nil
}

// handler converts the calls of an informer: before is nil for a new object, after for a deleted
// one.
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

// sleep waits for d. It returns false if ctx ends first.
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
