package inmemory

import (
	"context"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Receiver receives the events of a watch as objects, so that they are neither encoded nor decoded.
//
// A client puts it into the context of its request. If the server is in the process, and has the
// objects in the version that is requested, it passes the events to the Receiver. The request is
// then served as ever, except that its response has no event: authentication, authorization, the
// timeout, the end of the server and the end of the request have the same effect. On a connection
// the context does not reach the server, and the events are in the response.
//
// The objects belong to the client: nothing else refers to them.
type Receiver struct {
	mu        sync.Mutex // guards the fields below
	relay     *relay
	abandoned bool
}

// receiverKey is the key of the Receiver in a context.
type receiverKey struct{}

// WithReceiver returns a context for one request to watch, and its Receiver. [Receiver.Watch] or
// [Receiver.Abandon] must be called after the request.
func WithReceiver(ctx context.Context) (context.Context, *Receiver) {
	r := &Receiver{}
	return context.WithValue(ctx, receiverKey{}, r), r
}

// HandOver passes the events of a watch to the Receiver of the request, and returns the watch to
// serve instead, which has no events and ends together with the one that was given. It returns the
// watch itself if the request has no Receiver. Objects in the events must not be used by others.
func HandOver(ctx context.Context, source watch.Interface) watch.Interface {
	r, ok := ctx.Value(receiverKey{}).(*Receiver)
	if !ok {
		return source
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.abandoned {
		return source
	}
	if r.relay != nil { // the client repeats the request
		r.relay.Stop()
	}
	r.relay = newRelay(source)
	go r.relay.run()
	return responseWatch{r.relay}
}

// Watch returns the watch for the client, given the one of the response.
func (r *Receiver) Watch(response watch.Interface) watch.Interface {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.relay == nil {
		r.abandoned = true
		return response
	}
	return clientWatch{r.relay, response}
}

// Abandon ends the watch of a request that has failed.
func (r *Receiver) Abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.abandoned = true
	if r.relay != nil {
		r.relay.Stop()
	}
}

// relay passes events on until the source ends or it is stopped.
type relay struct {
	source         watch.Interface
	events         chan watch.Event // for the client; closed at the end
	responseEvents chan watch.Event // for the response; closed at the end
	stopped        chan struct{}
	stop           sync.Once
}

// pendingEvents is how many events may wait for the client before the source does.
const pendingEvents = 100

func newRelay(source watch.Interface) *relay {
	return &relay{
		source:         source,
		events:         make(chan watch.Event, pendingEvents),
		responseEvents: make(chan watch.Event),
		stopped:        make(chan struct{}),
	}
}

func (r *relay) run() {
	defer close(r.events)
	defer close(r.responseEvents)
	defer r.Stop()
	for {
		select {
		case event, ok := <-r.source.ResultChan():
			if !ok {
				return
			}
			event.Object = asDecoded(event)
			select {
			case r.events <- event:
			case <-r.stopped:
				return
			}
		case <-r.stopped:
			return
		}
	}
}

// Stop ends the source and the relay.
func (r *relay) Stop() {
	r.stop.Do(func() {
		r.source.Stop()
		close(r.stopped)
	})
}

// asDecoded returns the object of an event as a client would have decoded it.
func asDecoded(event watch.Event) runtime.Object {
	object := event.Object
	if shared, ok := object.(runtime.CacheableObject); ok {
		object = shared.GetObject() // a copy
	}
	if event.Type != watch.Error { // decoded objects of a known kind do not name it
		object.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
	}
	return object
}

// responseWatch is the watch of the response. It has no events.
type responseWatch struct{ relay *relay }

// Stop implements watch.Interface.
func (w responseWatch) Stop() { w.relay.Stop() }

// ResultChan implements watch.Interface.
func (w responseWatch) ResultChan() <-chan watch.Event { return w.relay.responseEvents }

// clientWatch is the watch of the client.
type clientWatch struct {
	relay    *relay
	response watch.Interface
}

// Stop implements watch.Interface. It ends the request, too.
func (w clientWatch) Stop() {
	w.relay.Stop()
	w.response.Stop()
}

// ResultChan implements watch.Interface.
func (w clientWatch) ResultChan() <-chan watch.Event { return w.relay.events }
