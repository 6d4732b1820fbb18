package app

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/allot-dev/allot/internal/scheduler"
)

// statePath is the path at which a process that schedules serves its view of the cluster.
const statePath = "/debug/state"

// schedulerNameHeader has the schedulerName of the pods that the process places.
const schedulerNameHeader = "Allot-Scheduler-Name"

// stateView serves the view of the scheduler in this process, if there is one.
type stateView struct {
	scheduler atomic.Pointer[scheduler.Scheduler]
}

// ServeHTTP writes the view as text.
func (v *stateView) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s := v.scheduler.Load()
	if s == nil {
		http.Error(w, "no scheduler works in this process now: another one may hold the lease", http.StatusServiceUnavailable)
		return
	}
	view, err := s.View(r.Context())
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set(schedulerNameHeader, s.Name())
	fmt.Fprint(w, view)
}

// onLoopback serves only requests from this machine to a loopback name, which is what kubectl
// port-forward sends. The view shows objects of the cluster, and the health port authenticates no
// client. The check of the name stops web pages whose browser resolves another host's name to this
// address.
func onLoopback(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.RemoteAddr) || !loopbackHost(r.Host) {
			http.Error(w, "only from this machine: use kubectl port-forward", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// loopbackHost reports whether a host, with or without a port, is this machine.
func loopbackHost(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
