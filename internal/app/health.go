package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/server/healthz"
)

// health serves /healthz, /livez, /readyz and /metrics of a process without an API. The process is
// not ready until ready is called, and /readyz names what it waits for.
type health struct {
	waitsFor    atomic.Pointer[string]
	unreachable atomic.Pointer[error] // why the API server cannot be reached
	listener    net.Listener
	mux         *http.ServeMux
	server      *http.Server
}

// listenHealth listens on the address. /healthz and /livez run the checks.
func listenHealth(address string, metrics http.Handler, checks ...healthz.HealthChecker) (*health, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("--health-listen: %w", err)
	}
	mux := http.NewServeMux()
	h := &health{listener: listener, mux: mux}
	h.wait("the API server")
	alive := append([]healthz.HealthChecker{healthz.PingHealthz}, checks...)
	healthz.InstallHandler(mux, alive...)
	healthz.InstallLivezHandler(mux, alive...)
	healthz.InstallReadyzHandler(
		mux,
		append(alive, healthz.NamedCheck("started", h.checkStarted), healthz.NamedCheck("apiserver", h.checkReachable))...)
	mux.Handle("/metrics", metrics)
	h.server = &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	return h, nil
}

// wait makes the process unready. /readyz names what as the reason.
func (h *health) wait(what string) { h.waitsFor.Store(&what) }

// setReady makes the process ready.
func (h *health) setReady() { h.waitsFor.Store(nil) }

func (h *health) checkStarted(*http.Request) error {
	if what := h.waitsFor.Load(); what != nil {
		return fmt.Errorf("waits for %s", *what)
	}
	return nil
}

// setUnreachable makes the process unready until find is called, whatever else it waits for.
func (h *health) setUnreachable(why error) { h.unreachable.Store(&why) }

// setReachable ends the state that lose began.
func (h *health) setReachable() { h.unreachable.Store(nil) }

func (h *health) checkReachable(*http.Request) error {
	if why := h.unreachable.Load(); why != nil {
		return fmt.Errorf("the API server cannot be reached: %w", *why)
	}
	return nil
}

func (h *health) url() string { return "http://" + h.listener.Addr().String() }

// serve serves requests until ctx ends.
func (h *health) serve(ctx context.Context) error {
	stopped := make(chan error, 1)
	go func() { stopped <- h.server.Serve(h.listener) }()
	select {
	case err := <-stopped:
		return err
	case <-ctx.Done():
	}
	err := h.server.Close()
	if served := <-stopped; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}
