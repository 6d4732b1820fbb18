package servertest

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// wire is the connection from the controller to the server: it records requests, and can delay
// creations.
type wire struct {
	mu       sync.Mutex
	requests []call
	held     map[string]chan struct{} // namespaces in which creations wait
	stopped  chan struct{}
	last     time.Time // of the last write of a template
	end      func()    // ends the controller
}

// call is a request in the words of roles.
type call struct {
	verb, group, resource, namespace string
	dryRun                           bool
}

func newWire() *wire { return &wire{held: map[string]chan struct{}{}, stopped: make(chan struct{})} }

type transport func(*http.Request) (*http.Response, error)

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

func (w *wire) wrap(next http.RoundTripper) http.RoundTripper {
	infos := &request.RequestInfoFactory{
		APIPrefixes:          sets.NewString("api", "apis"),
		GrouplessAPIPrefixes: sets.NewString("api"),
	}
	return transport(func(r *http.Request) (*http.Response, error) {
		info, err := infos.NewRequestInfo(r)
		if err != nil {
			return nil, err
		}
		if info.IsResourceRequest {
			c := call{
				verb:      info.Verb,
				group:     info.APIGroup,
				resource:  info.Resource,
				namespace: info.Namespace,
				dryRun:    r.URL.Query().Has("dryRun"),
			}
			if info.Subresource != "" {
				c.resource += "/" + info.Subresource
			}
			w.note(c)
			w.hold(c)
		}
		return next.RoundTrip(r)
	})
}

func (w *wire) note(c call) {
	w.mu.Lock()
	w.requests = append(w.requests, c)
	if c.resource == "resourceclaimtemplates" && c.verb != "list" && c.verb != "watch" {
		w.last = time.Now()
	}
	w.mu.Unlock()
}

func (w *wire) hold(c call) {
	if c.verb != "create" || c.dryRun {
		return
	}
	w.mu.Lock()
	gate := w.held[c.namespace]
	w.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-w.stopped:
		}
	}
}

// holdCreations makes creations in a namespace wait until release is called.
func (w *wire) holdCreations(namespace string) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	gate := make(chan struct{})
	w.held[namespace] = gate
	return func() {
		w.mu.Lock()
		delete(w.held, namespace)
		w.mu.Unlock()
		close(gate)
	}
}

// count returns the number of requests so far for which is returns true.
func (w *wire) count(which func(call) bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.requests {
		if which(c) {
			n++
		}
	}
	return n
}

// countBefore returns the number of requests for which is returns true and that were sent before the
// first one to namespace.
func (w *wire) countBefore(namespace string, which func(call) bool) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := 0
	for _, c := range w.requests {
		if !which(c) {
			continue
		}
		if c.namespace == namespace {
			return n
		}
		n++
	}
	return n
}

func (w *wire) lastWrite() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last
}

func templates(verbs ...string) func(call) bool {
	return func(c call) bool { return c.resource == "resourceclaimtemplates" && slices.Contains(verbs, c.verb) }
}
