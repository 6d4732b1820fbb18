package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Claims has the metrics of the claim controller.
type Claims struct {
	generation *prometheus.HistogramVec
	failures   *prometheus.CounterVec
}

func newClaims() *Claims {
	return &Claims{
		generation: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "allot_claim_generation_seconds",
			Help:    "Time from hearing of a pod or PodGroup (or of the template that it lacked) to the creation of a claim for it.",
			Buckets: latencies(),
		}, []string{"owner"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allot_claim_generation_failures_total",
			Help: "Claims that the API server refused to create.",
		}, []string{"owner"}),
	}
}

func (c *Claims) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.generation, c.failures}
}

// Generated counts a claim generated for an owner of this kind.
func (c *Claims) Generated(owner string, took time.Duration) {
	c.generation.WithLabelValues(owner).Observe(took.Seconds())
}

// Refused counts a claim that could not be generated.
func (c *Claims) Refused(owner string) { c.failures.WithLabelValues(owner).Inc() }
