package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Templates has the metrics of the controller that replicates cluster-wide templates.
type Templates struct {
	writes     *prometheus.CounterVec
	namespaces *prometheus.GaugeVec
	took       prometheus.Histogram
}

func newTemplates() *Templates {
	return &Templates{
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allot_templates_writes_total",
			Help: "Copies that were created, replaced, repaired or deleted, or could not be.",
		}, []string{"verb", "result"}),
		namespaces: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "allot_templates_namespaces",
			Help: "Namespaces by template: wanted, and of those in step, and with a conflict.",
		}, []string{"template", "state"}),
		took: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "allot_templates_sync_seconds",
			Help:    "Time from hearing that a namespace is out of step to seeing it in step.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 14),
		}),
	}
}

func (t *Templates) collectors() []prometheus.Collector {
	return []prometheus.Collector{t.writes, t.namespaces, t.took}
}

// Wrote counts a successful or failed write.
func (t *Templates) Wrote(verb string, ok bool) {
	result := "ok"
	if !ok {
		result = "error"
	}
	t.writes.WithLabelValues(verb, result).Inc()
}

// Stands sets the number of namespaces in which a template is wanted, in sync, and conflicting.
func (t *Templates) Stands(template string, wanted, inStep, conflicting int32) {
	t.namespaces.WithLabelValues(template, "wanted").Set(float64(wanted))
	t.namespaces.WithLabelValues(template, "in_step").Set(float64(inStep))
	t.namespaces.WithLabelValues(template, "conflicting").Set(float64(conflicting))
}

// Gone removes the metrics of a deleted template.
func (t *Templates) Gone(template string) {
	t.namespaces.DeletePartialMatch(prometheus.Labels{"template": template})
}

// Synced counts a namespace that was brought in sync.
func (t *Templates) Synced(took time.Duration) { t.took.Observe(took.Seconds()) }
