package app

import (
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/allot-dev/allot/internal/scheduler"
)

// statePath is where a process that schedules shows its view of the cluster.
const statePath = "/debug/state"

// schedulerNameHeader has the schedulerName of the pods that it places.
const schedulerNameHeader = "Allot-Scheduler-Name"

// stateView answers with the view of the scheduler that runs in this process, if one does.
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

// onLoopback lets only those in who come from this machine, and call it so: whoever may forward a port to the pod. It
// shows what is in the cluster, and the health port asks nobody who they are. A page that has a browser call another
// host's name for this address is kept out by the second rule.
func onLoopback(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopbackHost(r.RemoteAddr) || !loopbackHost(r.Host) {
			http.Error(w, "only from this machine: use kubectl port-forward", http.StatusForbidden)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// loopbackHost says whether a host, with or without a port, is this machine.
func loopbackHost(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
