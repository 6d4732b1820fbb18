package inmemory

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

// serveWatch serves a watch over a Receiver, as handlers of k8s.io/apiserver do. The returned channel
// is closed when the handler has returned.
func serveWatch(source watch.Interface) (http.RoundTripper, <-chan struct{}) {
	ended := make(chan struct{})
	t := &Transport{}
	t.Serve(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		served := HandOver(r.Context(), source)
		defer served.Stop()
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case _, ok := <-served.ResultChan():
				if !ok {
					return
				}
				fmt.Fprint(w, "event")
			}
		}
	}))
	return t, ended
}

// response returns the watch of a response without events.
type response struct {
	*http.Response
	events chan watch.Event
}

func (r response) Stop()                          { r.Body.Close() }
func (r response) ResultChan() <-chan watch.Event { return r.events }

// startWatch starts a watch.
func startWatch(t *testing.T, transport http.RoundTripper) watch.Interface {
	t.Helper()
	ctx, receiver := WithReceiver(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://server/watch", nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := transport.RoundTrip(req) //nolint:bodyclose // Stop closes it
	if err != nil {
		t.Fatal(err)
	}
	return receiver.Watch(response{Response: resp, events: make(chan watch.Event)})
}

func pod(name string) *corev1.Pod {
	return &corev1.Pod{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

// shared is an object that several watches share.
type shared struct{ *corev1.Pod }

func (s shared) GetObject() runtime.Object { return s.DeepCopy() }

var _ runtime.CacheableObject = shared{}

func (s shared) CacheEncode(runtime.Identifier, func(runtime.Object, io.Writer) error, io.Writer) error {
	panic("it is not encoded")
}

// Events are objects, without their kind as after decoding. A shared object is copied.
func TestEventsAreObjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		source := watch.NewFake()
		transport, ended := serveWatch(source)
		w := startWatch(t, transport)
		own, common := pod("own"), pod("common")
		go func() {
			source.Add(own)
			source.Modify(shared{common})
			source.Error(&metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status"}, Code: http.StatusGone})
			source.Stop()
		}()
		if e := <-w.ResultChan(); e.Type != watch.Added || e.Object != runtime.Object(own) || own.Kind != "" {
			t.Errorf("the first event is %+v, want the object itself without its kind", e)
		}
		if e := <-w.ResultChan(); e.Object == runtime.Object(common) || e.Object.(*corev1.Pod).Name != "common" ||
			common.Kind == "" {
			t.Errorf("the second event is %+v, want a copy of the object", e)
		}
		if e := <-w.ResultChan(); e.Type != watch.Error || e.Object.(*metav1.Status).Kind != "Status" {
			t.Errorf("the third event is %+v, want the error", e)
		}
		if e, ok := <-w.ResultChan(); ok {
			t.Errorf("the event %+v came after the end", e)
		}
		<-ended
		w.Stop()
	})
}

// The end of the client, of the handler (its context) or of the source ends the other two. The
// bubble fails if a goroutine remains.
func TestEndOfAWatch(t *testing.T) {
	for name, end := range map[string]func(w watch.Interface, source *watch.FakeWatcher){
		"client": func(w watch.Interface, _ *watch.FakeWatcher) { w.Stop() },
		"source": func(_ watch.Interface, source *watch.FakeWatcher) { source.Stop() },
		"client, while events wait": func(w watch.Interface, source *watch.FakeWatcher) {
			for range pendingEvents + 1 {
				source.Add(pod("a"))
			}
			w.Stop()
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				source := watch.NewFake()
				transport, ended := serveWatch(source)
				w := startWatch(t, transport)
				end(w, source)
				<-ended
				synctest.Wait()
				if !source.IsStopped() {
					t.Error("the source goes on")
				}
				for range w.ResultChan() { // received before the end
				}
				w.Stop()
			})
		})
	}
}

// A failed request leaves no watch, whether or not the handler passed it on.
func TestAbandon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, receiver := WithReceiver(t.Context())
		source := watch.NewFake()
		served := HandOver(ctx, source)
		receiver.Abandon()
		synctest.Wait()
		if _, ok := <-served.ResultChan(); ok || !source.IsStopped() {
			t.Error("the watch goes on")
		}
		late := watch.NewFake()
		if got := HandOver(ctx, late); got != watch.Interface(late) {
			t.Error("a watch was handed over after the request had failed")
		}
	})
}

// If the client repeats the request, the first watch ends.
func TestRepeatedRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, receiver := WithReceiver(t.Context())
		first, second := watch.NewFake(), watch.NewFake()
		HandOver(ctx, first)
		HandOver(ctx, second)
		w := receiver.Watch(watch.NewFake())
		go second.Add(pod("b"))
		if e := <-w.ResultChan(); e.Object.(*corev1.Pod).Name != "b" || !first.IsStopped() {
			t.Errorf("the event is %+v, and the first watch is stopped: %t", e, first.IsStopped())
		}
		w.Stop()
	})
}

// Without a Receiver, or over a connection, the events are in the response.
func TestWithoutReceiver(t *testing.T) {
	source := watch.NewFake()
	if got := HandOver(context.Background(), source); got != watch.Interface(source) {
		t.Error("a watch was handed over to nobody")
	}
	_, receiver := WithReceiver(context.Background())
	if got := receiver.Watch(source); got != watch.Interface(source) {
		t.Error("the watch of the response is not used")
	}
}
