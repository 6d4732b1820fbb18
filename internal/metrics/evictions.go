package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Evictions has the metrics of pods that a part of allot has deleted.
type Evictions struct {
	pods    *prometheus.CounterVec
	tainted prometheus.Counter
	late    prometheus.Histogram
}

func newEvictions() *Evictions {
	return &Evictions{
		pods: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allot_evictions_total",
			Help: "Pods deleted before their end, by cause: preemption, relocation or rollback of a gang, device_taint, node_taint.",
		}, []string{"cause"}),
		tainted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "device_taint_eviction_controller_pod_deletions_total",
			Help: "Pods deleted because of the taint of a device, since the start of the controller.",
		}),
		late: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "device_taint_eviction_controller_pod_deletion_duration_seconds",
			Help:    "Time from the moment at which the taint of a device took effect on a pod to the deletion of the pod.",
			Buckets: []float64{0.005, 0.025, 0.1, 0.5, 1, 2.5, 10, 30, 60, 120, 180, 240},
		}),
	}
}

func (e *Evictions) collectors() []prometheus.Collector {
	return []prometheus.Collector{e.pods, e.tainted, e.late}
}

// Evicted counts deleted pods.
func (e *Evictions) Evicted(cause string, pods int) { e.pods.WithLabelValues(cause).Add(float64(pods)) }

// DeviceTainted counts a pod that was deleted some time after the taint of a device took effect.
func (e *Evictions) DeviceTainted(late time.Duration) {
	e.Evicted("device_taint", 1)
	e.tainted.Inc()
	e.late.Observe(late.Seconds())
}

// NodeTainted counts a pod that was deleted because of the taint of its node.
func (e *Evictions) NodeTainted() { e.Evicted("node_taint", 1) }
