package registry

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
)

// flights are the pods and claims that placements are writing. Two placements of one pod wait for
// each other, so that the response to a request that is repeated tells how the first one ended.
type flights struct {
	mu    sync.Mutex
	byKey map[string]chan struct{}
}

func newFlights() flights { return flights{byKey: map[string]chan struct{}{}} }

// begin waits until none of the keys is in flight, and puts them in flight. The caller must call
// end.
func (f *flights) begin(ctx context.Context, keys []string) (end func(), err error) {
	for {
		other := f.tryBegin(keys)
		if other == nil {
			return func() { f.end(keys) }, nil
		}
		select {
		case <-ctx.Done():
			return nil, apierrors.NewTimeoutError("another placement of the same pods or claims is being written", 1)
		case <-other:
		}
	}
}

// tryBegin returns a channel that is closed when the flight of one of the keys has ended, or nil if
// none is in flight.
func (f *flights) tryBegin(keys []string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range keys {
		if other, ok := f.byKey[key]; ok {
			return other
		}
	}
	mine := make(chan struct{})
	for _, key := range keys {
		f.byKey[key] = mine
	}
	return nil
}

func (f *flights) end(keys []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	close(f.byKey[keys[0]])
	for _, key := range keys {
		delete(f.byKey, key)
	}
}

// flightsOf returns the keys of the pods and claims of a request.
func flightsOf(request *placement.Placement) []string {
	keys := make([]string, 0, len(request.Spec.Pods)+len(request.Spec.Claims))
	for i := range request.Spec.Pods {
		keys = append(keys, "pods/"+request.Namespace+"/"+request.Spec.Pods[i].Name)
	}
	for i := range request.Spec.Claims {
		keys = append(keys, claimFlight(request.Namespace, request.Spec.Claims[i].Name))
	}
	return keys
}

func claimFlight(namespace, name string) string { return "claims/" + namespace + "/" + name }
