package apiserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/runtime"
	genericapiserver "k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/apiserver/inmemory"
	"github.com/allot-dev/allot/internal/apiserver/noderights"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/token"
	"github.com/allot-dev/allot/internal/pki"
)

// Server is a running API server.
type Server struct {
	certificates *certificates
	backend      *backend
	loopback     *rest.Config
	transport    *inmemory.Transport
	policy       *rbac.Policy
	nodes        *noderights.Authorizer
	tokens       *token.Authority
	bootstrap    *token.Bootstrap
	listener     net.Listener
	url          string
	tracing      trace.TracerProvider
	// resume completes what a server had begun to write as a whole when it was killed.
	resume func(context.Context) error

	renewEvery time.Duration
	cancel     context.CancelCauseFunc
	ready      chan struct{} // closed when the start has ended
	done       chan struct{}
	mu         sync.Mutex
	err        error
}

// endOfStart limits how long a stop waits for the hooks of an unfinished start.
const endOfStart = 3 * time.Second

// errStopped is the cause of a requested stop.
var errStopped = errors.New("server is stopped")

// Start runs a server and returns when /readyz returns ok. The server stops when ctx ends, when
// [Server.Stop] is called, or when its etcd fails; [Server.Done] is closed then.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg, err := cfg.completed()
	if err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	backend, err := openBackend(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	s := &Server{
		backend: backend, transport: &inmemory.Transport{}, policy: rbac.NewPolicy(),
		nodes: &noderights.Authorizer{Rules: rbac.NodesMay, Issuer: token.Issuer}, renewEvery: cfg.renewEvery,
		ready: make(chan struct{}), done: make(chan struct{}),
	}
	front, err := s.assemble(cfg)
	if err == nil {
		err = s.resume(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("apiserver: %w", errors.Join(err, s.closeListener(), backend.close()))
	}
	runCtx, cancel := context.WithCancelCause(ctx)
	s.cancel = cancel
	go s.run(runCtx, front)
	if err := s.waitReady(ctx); err != nil {
		cancel(err)
		<-s.done
		return nil, fmt.Errorf("apiserver: %w", err)
	}
	return s, nil
}

// closeListener closes the listener of a server that never ran.
func (s *Server) closeListener() error {
	if s.listener == nil {
		return nil
	}
	return s.listener.Close()
}

// run serves until ctx ends or the embedded etcd fails, then closes everything.
func (s *Server) run(ctx context.Context, front *genericapiserver.GenericAPIServer) {
	defer close(s.done)
	prepared := front.PrepareRun()
	s.transport.Serve(prepared.Handler)
	stopped := make(chan error, 1)
	go func() { stopped <- prepared.RunWithContext(ctx) }()
	renewing, cancel := context.WithCancel(ctx)
	var renewed sync.WaitGroup
	renewed.Go(func() { s.certificates.run(renewing, s.renewEvery) })
	var failure error
	select {
	case failure = <-stopped:
	case err := <-s.backend.failed():
		failure = fmt.Errorf("etcd: %w", err)
		s.cancel(failure)
		failure = errors.Join(failure, <-stopped)
	}
	cancel()
	renewed.Wait()
	s.transport.Serve(nil)
	failure = errors.Join(failure, s.backend.close())
	s.mu.Lock()
	s.err = failure
	s.mu.Unlock()
}

// waitReady polls /readyz. Its error has the checks that fail.
func (s *Server) waitReady(ctx context.Context) error {
	if err := s.poll(ctx, "/readyz"); err != nil {
		return err
	}
	close(s.ready)
	return nil
}

// endStart is a pre-shutdown hook that waits for unfinished hooks of the start. A hook that is
// cancelled fails, and k8s.io/apiserver ends the process immediately when a hook fails.
func (s *Server) endStart() error {
	select {
	case <-s.ready:
		return nil
	default:
	}
	ctx, cancel := context.WithTimeout(context.Background(), endOfStart)
	defer cancel()
	_ = s.poll(ctx, "/healthz") // fails while a hook runs; if a hook hangs, the stop continues
	return nil
}

// poll sends requests to a path until the response is OK.
func (s *Server) poll(ctx context.Context, path string) error {
	client := &http.Client{Transport: s.transport}
	for {
		select {
		case <-s.done:
			return fmt.Errorf("stopped while starting: %w", s.Err())
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", path, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.loopback.Host+path, nil)
		if err != nil {
			return err
		}
		req.Header.Set("Authorization", "Bearer "+s.loopback.BearerToken)
		resp, err := client.Do(req)
		if err != nil {
			continue
		}
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
	}
}

// Loopback returns an administrator's client configuration that calls the server in the process,
// with protobuf and without a rate limit.
func (s *Server) Loopback() *rest.Config {
	cfg := rest.CopyConfig(s.loopback)
	cfg.ContentType = runtime.ContentTypeProtobuf
	cfg.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return cfg
}

// Tracing returns the provider of the tracers by which the server's requests are traced. Without a
// tracing file, nothing is recorded.
func (s *Server) Tracing() trace.TracerProvider { return s.tracing }

// RootCA returns the certificates by which clients verify the server.
func (s *Server) RootCA() []byte { return s.certificates.authority.CertPEM() }

// Authority returns the authority that signs certificates for clients of the server.
func (s *Server) Authority() *pki.Authority { return s.certificates.authority }

// URL returns the address of the server.
func (s *Server) URL() string { return s.url }

// Done returns a channel that is closed when the server has stopped and its data directory is not
// in use.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err returns the reason why the server stopped unexpectedly. It is nil before [Server.Done] is
// closed, and after a requested stop.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Stop stops the server: watches are ended, running requests are completed, and the storage is
// closed. It returns when that is done or when ctx ends.
func (s *Server) Stop(ctx context.Context) error {
	s.cancel(errStopped)
	select {
	case <-s.done:
		return s.Err()
	case <-ctx.Done():
		return fmt.Errorf("apiserver: waiting for the stop: %w", context.Cause(ctx))
	}
}
