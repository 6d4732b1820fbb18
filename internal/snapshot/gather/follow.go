package gather

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/snapshot"
)

// calm is for how long changes are gathered before they are reported, so that those that belong
// together are reported together.
const calm = 300 * time.Millisecond

// Follow takes a Snapshot and keeps it up to date by watches, which need the right to watch. It
// calls changed with the Snapshot, and again after changes, until that returns an error or ctx
// ends.
func (g *Gatherer) Follow(ctx context.Context, now func() time.Time, changed func(*snapshot.Snapshot) error) error {
	for ctx.Err() == nil {
		snap, listings, err := g.take(ctx, now())
		if err != nil {
			return err
		}
		if err := changed(snap); err != nil {
			return err
		}
		if err := follow(ctx, snap, listings, now, changed); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// follow applies changes to a Snapshot until a watch ends, because the server has forgotten its
// revision.
func follow(
	ctx context.Context, snap *snapshot.Snapshot, listings []listing, now func() time.Time,
	changed func(*snapshot.Snapshot) error,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	events := make(chan watch.Event)
	for i := range listings {
		if err := listings[i].watch(ctx, events); err != nil {
			return err
		}
	}
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case event := <-events:
			ended, err := apply(snap, event)
			if ended || err != nil {
				return err
			}
			if due == nil {
				due = time.After(calm)
			}
		case <-due:
			due = nil
			snap.Taken = metav1.NewTime(now().UTC().Truncate(time.Second))
			if err := changed(snap); err != nil {
				return err
			}
		}
	}
}

// watch sends the changes since the listing until ctx ends.
func (l *listing) watch(ctx context.Context, events chan<- watch.Event) error {
	w, err := watchtools.NewRetryWatcherWithContext(ctx, l.version, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return l.kind.watch(ctx, l.namespace, opts)
		},
	})
	if err != nil {
		return fmt.Errorf("watch %s: %w", l.kind.resource, err)
	}
	go func() {
		defer w.Stop()
		for {
			event, ok := <-w.ResultChan()
			if !ok {
				event = watch.Event{Type: watch.Error}
			}
			select {
			case <-ctx.Done():
				return
			case events <- event:
			}
			if !ok {
				return
			}
		}
	}()
	return nil
}

// apply applies a change to the Snapshot. It reports whether the watch has ended.
func apply(snap *snapshot.Snapshot, event watch.Event) (ended bool, err error) {
	switch event.Type {
	case watch.Added, watch.Modified:
		if e, ok := event.Object.(*corev1.Event); !ok || isExplained(e) {
			snap.Put(event.Object)
		}
	case watch.Deleted:
		if object, ok := event.Object.(client.Object); ok {
			snap.Delete(object)
		}
	case watch.Error:
		if event.Object == nil {
			return true, nil
		}
		if err := apierrors.FromObject(event.Object); !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return true, err
		}
		return true, nil
	}
	return false, nil
}
