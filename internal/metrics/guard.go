package metrics

import "github.com/prometheus/client_golang/prometheus"

// Guard has the metrics of the API server's guard, which allocates no device to two claims.
type Guard struct {
	refusals prometheus.Counter
}

func newGuard() *Guard {
	return &Guard{refusals: prometheus.NewCounter(prometheus.CounterOpts{
		Name: "allot_device_guard_refusals_total",
		Help: "Allocations that the API server refused because another claim had one of the devices, or might have had it.",
	})}
}

// Refused counts a refused allocation.
func (g *Guard) Refused() { g.refusals.Inc() }
