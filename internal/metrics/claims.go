package metrics

import (
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Claims has the metrics of the claim controller.
type Claims struct {
	generation *prometheus.HistogramVec
	failures   *prometheus.CounterVec
	creates    *prometheus.CounterVec
	counts     *claimCounts
}

// newClaimCreates returns the metric of created claims, which the scheduler shares with the claim
// controller, as in Kubernetes.
func newClaimCreates() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "dynamic_resource_allocation_resourceclaim_creates_total",
		Help: "Requests to create ResourceClaims by status, whether the claim has admin access, and the kind of the owner.",
	}, []string{"status", "admin_access", "owner_api_group", "owner_api_kind"})
}

func newClaims(creates *prometheus.CounterVec) *Claims {
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
		creates: creates,
		counts: &claimCounts{desc: prometheus.NewDesc(
			"dynamic_resource_allocation_resource_claims",
			"ResourceClaims by whether they are allocated, whether they have admin access, and what created them.",
			[]string{"allocated", "admin_access", "source"}, nil,
		)},
	}
}

func (c *Claims) collectors() []prometheus.Collector {
	return []prometheus.Collector{c.generation, c.failures, c.counts}
}

// Generated counts a claim generated for an owner of this kind.
func (c *Claims) Generated(owner string, adminAccess bool, took time.Duration) {
	c.generation.WithLabelValues(owner).Observe(took.Seconds())
	countCreate(c.creates, "success", owner, adminAccess, 1)
}

// Refused counts a claim that could not be generated.
func (c *Claims) Refused(owner string, adminAccess bool) {
	c.failures.WithLabelValues(owner).Inc()
	countCreate(c.creates, "failure", owner, adminAccess, 1)
}

func countCreate(creates *prometheus.CounterVec, status, owner string, adminAccess bool, n int) {
	group, kind := "", "Pod"
	if owner == "podgroup" {
		group, kind = "scheduling.k8s.io", "PodGroup"
	}
	creates.WithLabelValues(status, strconv.FormatBool(adminAccess), group, kind).Add(float64(n))
}

// ClaimTrait is the set of labels by which claims are counted.
type ClaimTrait struct {
	Allocated, AdminAccess bool
	Source                 string
}

// Watch has claims counted at each scrape by a function, which must be safe for concurrent use.
func (c *Claims) Watch(count func() map[ClaimTrait]int) { c.counts.source.Store(&count) }

// claimCounts collects the number of claims.
type claimCounts struct {
	desc   *prometheus.Desc
	source atomic.Pointer[func() map[ClaimTrait]int]
}

// Describe implements prometheus.Collector.
func (c *claimCounts) Describe(ch chan<- *prometheus.Desc) { ch <- c.desc }

// Collect implements prometheus.Collector.
func (c *claimCounts) Collect(ch chan<- prometheus.Metric) {
	count := c.source.Load()
	if count == nil {
		return
	}
	for trait, n := range (*count)() {
		ch <- prometheus.MustNewConstMetric(c.desc, prometheus.GaugeValue, float64(n),
			strconv.FormatBool(trait.Allocated), strconv.FormatBool(trait.AdminAccess), trait.Source)
	}
}
