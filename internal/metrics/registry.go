package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"
	_ "k8s.io/component-base/metrics/prometheus/restclient" // counts the requests of the process
	_ "k8s.io/component-base/metrics/prometheus/workqueue"  // shows the queues of the controllers
)

// Registry has the metrics of allot's parts.
type Registry struct {
	Claims    *Claims
	Scheduler *Scheduler
	Templates *Templates

	registry *prometheus.Registry
}

// New makes a Registry with all metrics at zero.
func New() *Registry {
	r := &Registry{Claims: newClaims(), Scheduler: newScheduler(), Templates: newTemplates(), registry: prometheus.NewRegistry()}
	r.registry.MustRegister(r.Claims.collectors()...)
	r.registry.MustRegister(r.Scheduler.collectors()...)
	r.registry.MustRegister(r.Templates.collectors()...)
	return r
}

// Handler serves /metrics.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{r.registry, legacyregistry.DefaultGatherer}, promhttp.HandlerOpts{})
}

// latencies are buckets from a millisecond to half a minute.
func latencies() []float64 { return prometheus.ExponentialBuckets(0.001, 2, 16) }
