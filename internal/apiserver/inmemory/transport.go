package inmemory

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// Transport is an http.RoundTripper that calls a handler. The zero value returns an error for every
// request until [Transport.Serve] is called.
type Transport struct {
	handler atomic.Pointer[http.Handler]
}

// ErrNotServing is returned while no handler is set.
var ErrNotServing = errors.New("server is not running")

// Serve sets the handler; nil stops serving. Running requests are not affected.
func (t *Transport) Serve(h http.Handler) {
	if h == nil {
		t.handler.Store(nil)
		return
	}
	t.handler.Store(&h)
}

// RoundTrip implements http.RoundTripper.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	h := t.handler.Load()
	if h == nil {
		closeBody(req)
		return nil, ErrNotServing
	}
	ctx, cancel := context.WithCancel(req.Context())
	w := newWriter(ctx)
	go serve(*h, w, serverRequest(ctx, req))
	select {
	case <-w.ready:
	case <-ctx.Done():
		cancel()
		return nil, context.Cause(ctx)
	}
	if w.err != nil {
		cancel()
		return nil, w.err
	}
	return w.response(req, cancel), nil
}

func serve(h http.Handler, w *writer, req *http.Request) {
	defer closeBody(req)
	defer func() {
		var err error
		if p := recover(); p != nil {
			err = fmt.Errorf("%s %s: handler aborted: %v", req.Method, req.URL.Path, p)
		}
		w.finish(err)
	}()
	h.ServeHTTP(w, req)
}

// serverRequest returns the request as a server would have read it. The handler may modify its copy
// of the headers.
func serverRequest(ctx context.Context, req *http.Request) *http.Request {
	out := req.Clone(ctx)
	out.RequestURI = req.URL.RequestURI()
	out.RemoteAddr = "127.0.0.1:0"
	out.Proto, out.ProtoMajor, out.ProtoMinor = "HTTP/2.0", 2, 0
	if out.Host == "" {
		out.Host = req.URL.Host
	}
	if out.Body == nil {
		out.Body = http.NoBody
	}
	return out
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		req.Body.Close()
	}
}

// writer collects a response. Only the handler's goroutine writes to it; everything that the client
// reads is set before ready is closed.
type writer struct {
	ctx    context.Context
	header http.Header
	buffer bytes.Buffer
	// stream is set at the first flush; before it, the body goes to buffer.
	stream *io.PipeWriter

	ready  chan struct{}
	status int
	sent   http.Header
	body   io.ReadCloser
	err    error
}

func newWriter(ctx context.Context) *writer {
	return &writer{ctx: ctx, header: http.Header{}, ready: make(chan struct{})}
}

// Header implements http.ResponseWriter.
func (w *writer) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *writer) WriteHeader(status int) {
	// Informational responses precede the final one, and are ignored.
	if w.status != 0 || status < http.StatusOK {
		return
	}
	w.status = status
	w.sent = w.header.Clone()
}

// Write implements http.ResponseWriter.
func (w *writer) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.stream != nil {
		return w.stream.Write(p)
	}
	return w.buffer.Write(p)
}

// Flush implements http.Flusher: it turns the response into a stream.
func (w *writer) Flush() {
	w.WriteHeader(http.StatusOK)
	if w.stream != nil {
		return
	}
	head := w.buffer.Bytes()
	r, pipe := io.Pipe()
	w.stream = pipe
	w.body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(head), r), r}
	close(w.ready)
}

// CloseNotify implements http.CloseNotifier, which the response writer wrappers of k8s.io/apiserver
// require before they pass Flush on.
func (w *writer) CloseNotify() <-chan bool {
	gone := make(chan bool, 1)
	context.AfterFunc(w.ctx, func() { gone <- true })
	return gone
}

// finish ends the response. An error makes the round trip fail, or the reading of the body if the
// response was already passed on.
func (w *writer) finish(err error) {
	if w.stream != nil {
		w.stream.CloseWithError(err)
		return
	}
	w.WriteHeader(http.StatusOK)
	w.err = err
	w.body = io.NopCloser(bytes.NewReader(w.buffer.Bytes()))
	close(w.ready)
}

func (w *writer) response(req *http.Request, cancel context.CancelFunc) *http.Response {
	length := int64(-1)
	if w.stream == nil {
		length = int64(w.buffer.Len())
	}
	return &http.Response{
		Status:        http.StatusText(w.status),
		StatusCode:    w.status,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        w.sent,
		Body:          &body{ReadCloser: w.body, cancel: cancel},
		ContentLength: length,
		Request:       req,
	}
}

// body ends the handler's context when the client closes it.
type body struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b *body) Close() error {
	b.cancel()
	return b.ReadCloser.Close()
}
