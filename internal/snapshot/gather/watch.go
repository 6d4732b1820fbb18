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

// Observer is given what a server has, and how it changes. Its methods are called by one goroutine.
type Observer interface {
	// Begin is called with everything, first and whenever a watch has ended because the server has
	// forgotten its revision.
	Begin(all *snapshot.Snapshot) error
	// Change is called with changes since Begin, in their order.
	Change(batch Batch) error
}

// Batch is changes that are reported together.
type Batch struct {
	Taken metav1.Time
	// Changes are of type Added, Modified or Deleted, and about kinds of a Snapshot.
	Changes []watch.Event
	// Unknown are kinds whose changes are not known any more.
	Unknown []snapshot.Unknown
}

// Apply applies the changes to a Snapshot.
func (b *Batch) Apply(snap *snapshot.Snapshot) {
	snap.Taken, snap.Unknown = b.Taken, append(snap.Unknown, b.Unknown...)
	for _, change := range b.Changes {
		if change.Type != watch.Deleted {
			snap.Put(change.Object)
		} else if object, ok := change.Object.(client.Object); ok {
			snap.Delete(object)
		}
	}
}

// Watch reads everything, and then watches it, which needs the right to watch, until the observer
// returns an error or ctx ends. A kind that may not be watched is shown as it was first.
func (g *Gatherer) Watch(ctx context.Context, now func() time.Time, observer Observer) error {
	for ctx.Err() == nil {
		snap, listings, err := g.take(ctx, now())
		if err != nil {
			return err
		}
		if err := observer.Begin(snap); err != nil {
			return err
		}
		if err := observe(ctx, listings, now, observer); err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// change is a change of a kind, or the end of its watch.
type change struct {
	kind *kind
	watch.Event
}

// observe reports changes until a watch ends. The caller lists again: a watch ends when the server
// no longer has the revision from which it would continue.
func observe(ctx context.Context, listings []listing, now func() time.Time, observer Observer) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes := make(chan change)
	for i := range listings {
		if err := listings[i].watch(ctx, changes); err != nil {
			return err
		}
	}
	var batch Batch
	var due <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return nil
		case c := <-changes:
			ended, err := batch.add(c)
			if ended || err != nil {
				return err
			}
			if due == nil {
				due = time.After(calm)
			}
		case <-due:
			due = nil
			batch.Taken = metav1.NewTime(now().UTC().Truncate(time.Second))
			if err := observer.Change(batch); err != nil {
				return err
			}
			batch = Batch{}
		}
	}
}

// watch sends the changes since the listing until ctx ends.
func (l *listing) watch(ctx context.Context, changes chan<- change) error {
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
				return // ctx has ended, or the last event was an error
			}
			select {
			case <-ctx.Done():
				return
			case changes <- change{l.kind, event}:
			}
		}
	}()
	return nil
}

// add adds a change to the batch. It reports whether everything must be read again.
func (b *Batch) add(c change) (again bool, err error) {
	switch c.Type {
	case watch.Added, watch.Modified, watch.Deleted:
		if e, ok := c.Object.(*corev1.Event); !ok || isExplained(e) {
			b.Changes = append(b.Changes, c.Event)
		}
	case watch.Error:
		err := apierrors.FromObject(c.Object)
		switch {
		case apierrors.IsForbidden(err):
			b.Unknown = append(b.Unknown, snapshot.Unknown{
				Resource: c.kind.resource, Reason: "you may not watch them", Missing: "changes of them are not seen",
			})
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
			return true, nil
		default:
			return true, fmt.Errorf("watch %s: %w", c.kind.resource, err)
		}
	}
	return false, nil
}
