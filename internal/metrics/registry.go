package metrics

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/component-base/metrics/legacyregistry"

	// registers metrics for the requests of the process.
	_ "k8s.io/component-base/metrics/prometheus/restclient"
	// registers metrics for the queues of controllers.
	_ "k8s.io/component-base/metrics/prometheus/workqueue"
)

// Registry has the metrics of all components.
type Registry struct {
	Claims    *Claims
	Evictions *Evictions
	Guard     *Guard
	Scheduler *Scheduler
	Templates *Templates

	registry *prometheus.Registry
}

// New returns a Registry with all metrics at zero.
func New() *Registry {
	creates := newClaimCreates()
	evictions := newEvictions()
	r := &Registry{
		Claims:    newClaims(creates),
		Evictions: evictions,
		Guard:     newGuard(),
		Scheduler: newScheduler(creates, evictions),
		Templates: newTemplates(),
		registry:  prometheus.NewRegistry(),
	}
	r.registry.MustRegister(creates)
	r.registry.MustRegister(r.Claims.collectors()...)
	r.registry.MustRegister(r.Evictions.collectors()...)
	r.registry.MustRegister(r.Guard.refusals)
	r.registry.MustRegister(r.Scheduler.collectors()...)
	r.registry.MustRegister(r.Templates.collectors()...)
	return r
}

// Handler serves /metrics.
func (r *Registry) Handler() http.Handler {
	return promhttp.HandlerFor(prometheus.Gatherers{r.registry, legacyregistry.DefaultGatherer}, promhttp.HandlerOpts{})
}

// latencies returns buckets from 1 millisecond to about 30 seconds.
func latencies() []float64 { return prometheus.ExponentialBuckets(0.001, 2, 16) }
