package memserver

import (
	"context"
	"fmt"
	"strings"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/storage"
)

// watcher receives the writes of one kind, or of one object of it. Writers never wait for it.
type watcher struct {
	store     *store
	key       string
	exact     bool
	predicate storage.SelectionPredicate
	out       chan watch.Event
	stop      func()

	mu      sync.Mutex
	pending []watch.Event
	wakeup  chan struct{} // has capacity 1
}

// Watch implements storage.Interface.
func (s *store) Watch(ctx context.Context, key string, opts storage.ListOptions) (watch.Interface, error) {
	since, err := s.Versioner().ParseResourceVersion(opts.ResourceVersion)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &watcher{
		store: s, key: key, exact: !opts.Recursive, predicate: opts.Predicate,
		out: make(chan watch.Event), stop: cancel, wakeup: make(chan struct{}, 1),
	}
	m := s.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	switch {
	case initial || since == 0:
		for _, r := range m.belowLocked(key) {
			w.addEvent(Change{key: key, revision: r.revision, After: r.object})
		}
	case since < m.oldest:
		expired := apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", since, m.oldest)).Status()
		w.add(watch.Event{Type: watch.Error, Object: &expired})
	default:
		for _, c := range m.history {
			if c.revision > since {
				w.onChange(c)
			}
		}
	}
	if initial && opts.Predicate.AllowWatchBookmarks {
		w.bookmark(m.revision)
	}
	m.watchers[w] = true
	go w.run(ctx)
	return w, nil
}

func (w *watcher) onChange(c Change) {
	if c.key == w.key || !w.exact && strings.HasPrefix(c.key, w.key) {
		w.addEvent(c)
	}
}

// addEvent adds the event that a change is to an observer of the objects that match the predicate.
func (w *watcher) addEvent(c Change) {
	before, had := w.visible(c.Before, c.revision)
	after, has := w.visible(c.After, c.revision)
	switch {
	case had && has:
		w.add(watch.Event{Type: watch.Modified, Object: after})
	case has:
		w.add(watch.Event{Type: watch.Added, Object: after})
	case had:
		w.add(watch.Event{Type: watch.Deleted, Object: before})
	}
}

func (w *watcher) visible(object runtime.Object, revision uint64) (runtime.Object, bool) {
	if object == nil {
		return nil, false
	}
	object, err := w.store.copyOut(object, revision)
	if err != nil {
		return nil, false
	}
	matches, err := w.predicate.Matches(object)
	return object, err == nil && matches
}

// bookmark adds the bookmark that ends the initial events.
func (w *watcher) bookmark(revision uint64) {
	object := w.store.newOne()
	if err := w.store.Versioner().UpdateObject(object, revision); err != nil {
		return
	}
	if m, err := meta.Accessor(object); err == nil {
		m.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	w.add(watch.Event{Type: watch.Bookmark, Object: object})
}

func (w *watcher) add(e watch.Event) {
	w.mu.Lock()
	w.pending = append(w.pending, e)
	w.mu.Unlock()
	select {
	case w.wakeup <- struct{}{}:
	default:
	}
}

func (w *watcher) take() []watch.Event {
	w.mu.Lock()
	defer w.mu.Unlock()
	events := w.pending
	w.pending = nil
	return events
}

func (w *watcher) run(ctx context.Context) {
	defer w.unsubscribe()
	for {
		for _, e := range w.take() {
			select {
			case w.out <- e:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-w.wakeup:
		case <-ctx.Done():
			return
		}
	}
}

func (w *watcher) unsubscribe() {
	close(w.out)
	w.store.memory.mu.Lock()
	defer w.store.memory.mu.Unlock()
	delete(w.store.memory.watchers, w)
}

// Stop implements watch.Interface.
func (w *watcher) Stop() { w.stop() }

// ResultChan implements watch.Interface.
func (w *watcher) ResultChan() <-chan watch.Event { return w.out }
