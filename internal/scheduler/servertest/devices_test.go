package servertest

import (
	"context"
	"fmt"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// witness watches all claims of a namespace, in the order in which they were written, and notes devices that two have at
// one resource version.
type witness struct {
	mu      sync.Mutex
	holders map[model.DeviceID]string
	devices map[string][]model.DeviceID
	doubles []string
	used    map[model.DeviceID]bool
	allocs  int // claims that got devices
	reused  int // devices that were given out again
}

// watchClaims starts a witness that sees all from now on, until the test ends.
func watchClaims(t *testing.T, ns string) *witness {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	w := &witness{holders: map[model.DeviceID]string{}, devices: map[string][]model.DeviceID{}, used: map[model.DeviceID]bool{}}
	stream, err := set.ResourceClaims(ns).Watch(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range stream.ResultChan() {
			w.see(event)
		}
	}()
	t.Cleanup(func() { cancel(); stream.Stop(); <-done })
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

// testify says how many allocations there were, and fails the test for each device that two claims had.
func (w *witness) testify(t *testing.T) int {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, double := range w.doubles {
		t.Error(double)
	}
	return w.allocs
}
