package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Scheduler has the metrics of the scheduler.
type Scheduler struct {
	attempts *prometheus.HistogramVec
	commits  *prometheus.HistogramVec
	bound    prometheus.Counter
	units    *prometheus.GaugeVec

	preemptions *prometheus.CounterVec
	victims     *prometheus.CounterVec
}

func newScheduler() *Scheduler {
	return &Scheduler{
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "allot_scheduling_attempt_seconds",
			Help:    "Time to decide where a unit goes, without API writes.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 12),
		}, []string{"unit", "result"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "allot_commit_seconds",
			Help:    "Time to write a plan: claims, then binds.",
			Buckets: latencies(),
		}, []string{"result"}),
		bound: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "allot_pods_bound_total",
			Help: "Pods that were bound to a node.",
		}),
		units: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "allot_waiting_units",
			Help: "Pods and gangs that are not placed: ready to be tried, or parked until something changes that could help them.",
		}, []string{"state"}),
		preemptions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allot_preemptions_total",
			Help: "How often pods had to leave for a unit of higher priority.",
		}, []string{"unit"}),
		victims: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "allot_preemption_victims_total",
			Help: "What had to leave for units of higher priority: pods, and PodGroups as a whole.",
		}, []string{"kind"}),
	}
}

func (s *Scheduler) collectors() []prometheus.Collector {
	return []prometheus.Collector{s.attempts, s.commits, s.bound, s.units, s.preemptions, s.victims}
}

// Tried counts an attempt to place a unit ("pod" or "gang").
func (s *Scheduler) Tried(unit, result string, took time.Duration) {
	s.attempts.WithLabelValues(unit, result).Observe(took.Seconds())
}

// Committed counts a written plan, with the number of bound pods.
func (s *Scheduler) Committed(result string, took time.Duration, pods int) {
	s.commits.WithLabelValues(result).Observe(took.Seconds())
	s.bound.Add(float64(pods))
}

// Preempted counts the victims of a preemption for a unit ("pod" or "gang"): single pods, and
// PodGroups preempted as a whole.
func (s *Scheduler) Preempted(unit string, pods, groups int) {
	s.preemptions.WithLabelValues(unit).Inc()
	s.victims.WithLabelValues("pod").Add(float64(pods))
	s.victims.WithLabelValues("podgroup").Add(float64(groups))
}

// Waiting sets the number of units in the active queue, and of parked units.
func (s *Scheduler) Waiting(active, parked int) {
	s.units.WithLabelValues("active").Set(float64(active))
	s.units.WithLabelValues("parked").Set(float64(parked))
}
