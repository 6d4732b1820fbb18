package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/allot-dev/allot/internal/inventory"
)

// Scheduler has the metrics of the scheduler.
type Scheduler struct {
	upstream
	creates   *prometheus.CounterVec
	evictions *Evictions
	counts    *counts

	attempts *prometheus.HistogramVec
	steps    *prometheus.HistogramVec
	commits  *prometheus.HistogramVec
	bound    prometheus.Counter
	units    *prometheus.GaugeVec

	preemptions *prometheus.CounterVec
	victims     *prometheus.CounterVec
	rollbacks   prometheus.Counter
	freed       *prometheus.CounterVec
}

func newScheduler(creates *prometheus.CounterVec, evictions *Evictions) *Scheduler {
	return &Scheduler{
		upstream: newUpstream(), creates: creates, evictions: evictions, counts: newCounts(),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "allot_scheduling_attempt_seconds",
			Help:    "Time to decide where a unit goes, without API writes.",
			Buckets: prometheus.ExponentialBuckets(0.00001, 4, 12),
		}, []string{"unit", "result"}),
		steps: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "allot_search_steps",
			Help:    "Steps of the search for a place of a unit. A search that reaches its limit is undecided.",
			Buckets: prometheus.ExponentialBuckets(1, 4, 10),
		}, []string{"unit"}),
		commits: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "allot_commit_seconds",
			Help:    "Time to write a plan: claims, then binds.",
			Buckets: latencies(),
		}, []string{"result"}),
		bound: counter("allot_pods_bound_total", "Pods that were bound to a node."),
		units: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "allot_waiting_units",
			Help: "Pods and gangs that are not placed: ready to be tried, or parked until something changes that could help them.",
		}, []string{"state"}),
		preemptions: counters("allot_preemptions_total",
			"How often pods had to leave for a unit of higher priority.", "unit"),
		victims: counters("allot_preemption_victims_total",
			"What had to leave for units of higher priority: pods, and PodGroups as a whole.", "kind"),
		rollbacks: counter("allot_gang_rollbacks_total",
			"Gangs whose bound pods were deleted because the gang could not be completed."),
		freed: counters("allot_claims_freed_total",
			"Claims that the scheduler deallocated: unused by their owner, or reclaimed from a group for a higher priority.", "cause"),
	}
}

func counter(name, help string) prometheus.Counter {
	return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
}

func counters(name, help string, labels ...string) *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
}

func (s *Scheduler) collectors() []prometheus.Collector {
	return append(s.upstream.collectors(), s.counts, s.attempts, s.steps, s.commits, s.bound, s.units, s.preemptions,
		s.victims, s.rollbacks, s.freed)
}

// Tried counts an attempt to place a unit ("pod" or "gang").
func (s *Scheduler) Tried(unit, result string, took time.Duration, steps int) {
	s.attempts.WithLabelValues(unit, result).Observe(took.Seconds())
	s.steps.WithLabelValues(unit).Observe(float64(steps))
}

// Ended counts the end of an attempt.
func (s *Scheduler) Ended(o inventory.Outcome) {
	result, took, pods := string(o.Result), o.Took.Seconds(), float64(o.Pods)
	if o.Unit == "gang" {
		s.groupAttempts.WithLabelValues(result, o.Profile).Inc()
		s.groupLatency.WithLabelValues(result, o.Profile).Observe(took)
	}
	if o.Result == inventory.WaitingOnPreemption {
		result = string(inventory.NotFitting) // of a pod
	}
	s.podAttempts.WithLabelValues(result, o.Profile).Add(pods)
	latency := s.podLatency.WithLabelValues(result, o.Profile)
	for range o.Pods {
		latency.Observe(took)
	}
	if o.Result != inventory.Scheduled {
		return
	}
	waited := s.podWaited.WithLabelValues(attemptsLabel(o.Attempts))
	for range o.Pods {
		waited.Observe(o.Waited.Seconds())
		s.podTries.Observe(float64(o.Attempts))
	}
}

// attemptsLabel returns the number of attempts as the value of a label, as kube-scheduler does.
func attemptsLabel(attempts int) string {
	if attempts >= 15 {
		return "15+"
	}
	return strconv.Itoa(attempts)
}

// Committed counts a written plan, with the number of bound pods.
func (s *Scheduler) Committed(result string, took time.Duration, pods int) {
	s.commits.WithLabelValues(result).Observe(took.Seconds())
	s.bound.Add(float64(pods))
}

// Created counts claims that were created for extended resources of pods.
func (s *Scheduler) Created(claims int) { countCreate(s.creates, "success", "pod", false, claims) }

// Searched counts a search for victims of a unit.
func (s *Scheduler) Searched(unit string, found bool, took time.Duration) {
	result := "Unschedulable"
	if found {
		result = "Success"
	}
	preemptor := "pod"
	if unit == "gang" {
		preemptor = "podgroup"
		s.groupPreemptions.WithLabelValues(result).Inc()
	} else {
		s.podPreemptions.Inc()
	}
	s.evaluation.WithLabelValues(preemptor, result).Observe(took.Seconds())
}

// Preempted counts the victims of a preemption for a unit ("pod" or "gang"): single pods, and
// PodGroups preempted as a whole.
func (s *Scheduler) Preempted(unit string, pods, groups int) {
	s.preemptions.WithLabelValues(unit).Inc()
	s.victims.WithLabelValues("pod").Add(float64(pods))
	s.victims.WithLabelValues("podgroup").Add(float64(groups))
	if unit == "gang" {
		s.groupVictims.Observe(float64(pods))
	} else {
		s.podVictims.Observe(float64(pods))
	}
}

// Evicted counts pods that the scheduler deleted.
func (s *Scheduler) Evicted(cause string, pods int) { s.evictions.Evicted(cause, pods) }

// RolledBack counts a gang that is rolled back.
func (s *Scheduler) RolledBack() { s.rollbacks.Inc() }

// Freed counts a deallocated claim.
func (s *Scheduler) Freed(cause string) { s.freed.WithLabelValues(cause).Inc() }

// Waiting sets the number of units in the active queue, and of parked units.
func (s *Scheduler) Waiting(active, parked int) {
	s.units.WithLabelValues("active").Set(float64(active))
	s.units.WithLabelValues("parked").Set(float64(parked))
}

// Watch has everything counted at each scrape by a source.
func (s *Scheduler) Watch(source Source) { s.counts.source.Store(&source) }
