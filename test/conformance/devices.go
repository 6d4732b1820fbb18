package conformance

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// deviceWatch watches all claims of the cluster, and records each device that was allocated to two
// claims at one time, and each allocated claim with reservations that the API does not allow.
type deviceWatch struct {
	stop func()
	done chan struct{}

	mu      sync.Mutex
	holders map[device]string // the claim that holds it
	held    map[string][]device
	wrong   []string
	seen    int
}

type device struct{ driver, pool, name string }

// watchDevices starts to watch; the statement [deviceWatch.check] stops it.
func (s *suite) watchDevices(t *testing.T) *deviceWatch {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	w := &deviceWatch{stop: cancel, done: make(chan struct{}), holders: map[device]string{}, held: map[string][]device{}}
	claims := s.clients.ResourceV1().ResourceClaims("")
	list, err := claims.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		w.record(watch.Added, &list.Items[i])
	}
	version := list.ResourceVersion
	go func() {
		defer close(w.done)
		for ctx.Err() == nil {
			next, err := w.follow(ctx, version, claims)
			if err != nil && ctx.Err() == nil {
				w.note(fmt.Sprintf("the watch ended: %v", err)) // the missed events could be relevant
				return
			}
			version = next
		}
	}()
	t.Cleanup(cancel)
	return w
}

type watcher interface {
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// follow watches the changes after a version, until the server ends the watch. It returns the last
// version seen.
func (w *deviceWatch) follow(ctx context.Context, version string, claims watcher) (string, error) {
	changes, err := claims.Watch(ctx, metav1.ListOptions{ResourceVersion: version, AllowWatchBookmarks: true})
	if err != nil {
		return version, err
	}
	defer changes.Stop()
	for e := range changes.ResultChan() {
		claim, ok := e.Object.(*resourcev1.ResourceClaim)
		if !ok {
			return version, errors.New(fmt.Sprint(e.Object))
		}
		version = claim.ResourceVersion
		if e.Type != watch.Bookmark {
			w.record(e.Type, claim)
		}
	}
	return version, nil
}

// record records the current state of a claim.
func (w *deviceWatch) record(kind watch.EventType, claim *resourcev1.ResourceClaim) {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := claim.Namespace + "/" + claim.Name + "/" + string(claim.UID)
	for _, d := range w.held[name] {
		delete(w.holders, d)
	}
	delete(w.held, name)
	if kind == watch.Deleted || claim.Status.Allocation == nil {
		return
	}
	for _, r := range claim.Status.Allocation.Devices.Results {
		d := device{r.Driver, r.Pool, r.Device}
		if other, taken := w.holders[d]; taken {
			w.wrong = append(w.wrong, fmt.Sprintf("%v was in %s when %s got it", d, other, name))
		}
		w.holders[d] = name
		w.held[name] = append(w.held[name], d)
		w.seen++
	}
}

func (w *deviceWatch) note(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, text)
}

// check: R18.
func (w *deviceWatch) check(t *testing.T) {
	w.stop()
	<-w.done
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.wrong {
		t.Error(text)
	}
	if w.seen == 0 {
		t.Error("no claim was ever allocated")
	}
}
