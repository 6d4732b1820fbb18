package metrics

import "github.com/prometheus/client_golang/prometheus"

// upstream has the metrics that kube-scheduler 1.37 has as well, with its names, labels and buckets.
type upstream struct {
	podAttempts    *prometheus.CounterVec
	podLatency     *prometheus.HistogramVec
	podWaited      *prometheus.HistogramVec
	podTries       prometheus.Histogram
	podPreemptions prometheus.Counter
	podVictims     prometheus.Histogram

	groupAttempts    *prometheus.CounterVec
	groupLatency     *prometheus.HistogramVec
	groupPreemptions *prometheus.CounterVec
	groupVictims     prometheus.Histogram
	evaluation       *prometheus.HistogramVec
}

func newUpstream() upstream {
	attempts := prometheus.ExponentialBuckets(0.001, 2, 15)
	return upstream{
		podAttempts: counters("scheduler_schedule_attempts_total",
			"Attempts to schedule pods by result: scheduled, unschedulable, or error if something could not be written.",
			"result", "profile"),
		podLatency: histograms("scheduler_scheduling_attempt_duration_seconds",
			"Time of an attempt to schedule a pod: the search and the writes.", attempts, "result", "profile"),
		podWaited: histograms("scheduler_pod_scheduling_sli_duration_seconds",
			"Time from the first attempt to schedule a pod until it is bound, over all attempts.",
			prometheus.ExponentialBuckets(0.01, 2, 20), "attempts"),
		podTries: histogram("scheduler_pod_scheduling_attempts",
			"Attempts until a pod was bound.", prometheus.ExponentialBuckets(1, 2, 5)),
		podPreemptions: counter("scheduler_preemption_attempts_total",
			"Searches for victims of single pods, whether or not there were any."),
		podVictims: histogram("scheduler_preemption_victims",
			"Victims of a preemption for a single pod.", prometheus.ExponentialBuckets(1, 2, 7)),

		groupAttempts: counters("scheduler_podgroup_schedule_attempts_total",
			"Attempts to schedule PodGroups by result: scheduled, unschedulable, waiting_on_preemption or error.",
			"result", "profile"),
		groupLatency: histograms("scheduler_podgroup_scheduling_attempt_duration_seconds",
			"Time of an attempt to schedule a PodGroup: the search and the writes.", attempts, "result", "profile"),
		groupPreemptions: counters("scheduler_workload_preemption_attempts_total",
			"Searches for victims of PodGroups by result: Success or Unschedulable.", "result"),
		groupVictims: histogram("scheduler_workload_preemption_victims",
			"Victims of a preemption for a PodGroup.", prometheus.ExponentialBuckets(1, 2, 11)),
		evaluation: histograms("scheduler_preemption_evaluation_duration_seconds",
			"Time of a search for victims, by what it was for and by result.", latencies(), "preemptor", "result"),
	}
}

func (u *upstream) collectors() []prometheus.Collector {
	return []prometheus.Collector{
		u.podAttempts, u.podLatency, u.podWaited, u.podTries, u.podPreemptions, u.podVictims,
		u.groupAttempts, u.groupLatency, u.groupPreemptions, u.groupVictims, u.evaluation,
	}
}

func histogram(name, help string, buckets []float64) prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
}

func histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
}
