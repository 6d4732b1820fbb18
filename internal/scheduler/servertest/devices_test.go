package servertest

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// witness watches all claims of a namespace, in the order in which they were written, and notes
// devices that two have at one resource version.
type witness struct {
	ns string

	mu      sync.Mutex
	holders map[model.DeviceID]string
	devices map[string][]model.DeviceID
	doubles []string
	used    map[model.DeviceID]bool
	allocs  int // claims that got devices
	reused  int // devices that were given out again
}

// watchClaims starts a witness that sees all from now on, until the test ends. The server cuts off
// a watch that does not keep up; the witness then goes on where it was.
func watchClaims(t *testing.T, ns string) *witness {
	t.Helper()
	list, err := set.ResourceClaims(ns).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	stream, err := toolswatch.NewRetryWatcherWithContext(ctx, list.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
			return set.ResourceClaims(ns).Watch(ctx, opts)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	w := &witness{
		ns:      ns,
		holders: map[model.DeviceID]string{},
		devices: map[string][]model.DeviceID{},
		used:    map[model.DeviceID]bool{},
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			w.see(event)
		}
	}()
	t.Cleanup(func() { cancel(); <-done })
	return w
}

func (w *witness) see(event watch.Event) {
	claim, ok := event.Object.(*resource.ResourceClaim)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !ok {
		w.doubles = append(w.doubles, fmt.Sprintf("the watch broke: %v", event.Object))
		return
	}
	had := len(w.devices[claim.Name]) > 0
	for _, id := range w.devices[claim.Name] {
		if w.holders[id] == claim.Name {
			delete(w.holders, id)
		}
	}
	delete(w.devices, claim.Name)
	if event.Type == watch.Deleted || claim.Status.Allocation == nil {
		return
	}
	if !had {
		w.allocs++
	}
	for _, result := range claim.Status.Allocation.Devices.Results {
		id := model.DeviceIDOf(result)
		if other, taken := w.holders[id]; taken {
			w.doubles = append(w.doubles, fmt.Sprintf("%s for %s and %s at %s", id, other, claim.Name, claim.ResourceVersion))
		}
		if !had && w.used[id] {
			w.reused++
		}
		w.used[id] = true
		w.holders[id] = claim.Name
		w.devices[claim.Name] = append(w.devices[claim.Name], id)
	}
}

// seen says how many claims got devices, and how many devices were given out again, as far as the
// witness has come.
func (w *witness) seen() (allocs, reused int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.allocs, w.reused
}

// testify waits until the witness has seen what the server holds, and fails the test for each
// device that two claims had.
func (w *witness) testify(t *testing.T) {
	t.Helper()
	eventually(t, "the witness has seen the claims that are left", func() bool {
		list, err := set.ResourceClaims(w.ns).List(t.Context(), metav1.ListOptions{})
		return err == nil && cmp.Equal(w.held(), holding(list.Items), cmpopts.EquateEmpty())
	})
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, double := range w.doubles {
		t.Error(double)
	}
}

func (w *witness) held() map[string][]model.DeviceID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.devices)
}

// holding gives the devices of the claims that have some.
func holding(claims []resource.ResourceClaim) map[string][]model.DeviceID {
	out := map[string][]model.DeviceID{}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			out[claim.Name] = append(out[claim.Name], model.DeviceIDOf(result))
		}
	}
	return out
}
