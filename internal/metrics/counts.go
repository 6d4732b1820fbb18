package metrics

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/allot-dev/allot/internal/inventory"
)

// Source counts everything that the scheduler knows. It returns an error if the scheduler does not
// run, and then the process has none of these metrics: another replica has them.
type Source func(ctx context.Context) (*inventory.Counts, error)

// countWithin is how long a scrape waits for the counts.
const countWithin = 5 * time.Second

// counts collects what is counted at each scrape. It keeps nothing, so that no series outlives the
// object that it counts.
type counts struct {
	source atomic.Pointer[Source]

	devices, classes, claims, pods, gangs, oldest, undecided *prometheus.Desc
}

func newCounts() *counts {
	gauge := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &counts{
		devices: gauge("allot_devices",
			"Devices by driver, pool and state. The pools that only one node can use are summed up under pool=\"\".",
			"driver", "pool", "state"),
		classes: gauge("allot_class_devices",
			"Devices that a DeviceClass selects, by state. A device can be of several classes.", "class", "state"),
		claims: gauge("allot_claims", "ResourceClaims by state.", "state"),
		pods: gauge("scheduler_pending_pods",
			"Pods without a node by queue: active, backoff, unschedulable, gated, incomplete or pending.", "queue"),
		gangs: gauge("allot_waiting_gangs",
			"PodGroups and trees of them with pods that have no node, by reason and age.", "reason", "age"),
		oldest: gauge("allot_oldest_waiting_gang_seconds", "Age of the oldest gang that waits, by reason.", "reason"),
		undecided: gauge("allot_undecided_units",
			"Pods and gangs whose search ended at its limit, so that it is not known whether they fit."),
	}
}

// Describe implements prometheus.Collector.
func (c *counts) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		c.devices, c.classes, c.claims, c.pods, c.gangs, c.oldest, c.undecided,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (c *counts) Collect(ch chan<- prometheus.Metric) {
	source := c.source.Load()
	if source == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), countWithin)
	defer cancel()
	now, err := (*source)(ctx)
	if err != nil {
		return
	}
	gauge := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value, labels...)
	}
	for _, state := range inventory.DeviceStates() {
		for i := range now.Pools {
			gauge(c.devices, float64(now.Pools[i].States[state]), now.Pools[i].Driver, now.Pools[i].Pool, state.String())
		}
		for i := range now.Classes {
			gauge(c.classes, float64(now.Classes[i].States[state]), now.Classes[i].Class, state.String())
		}
	}
	for state, n := range now.Claims {
		gauge(c.claims, float64(n), string(state))
	}
	for queue, n := range now.Pods {
		gauge(c.pods, float64(n), string(queue))
	}
	for wait, n := range now.Gangs {
		gauge(c.gangs, float64(n), wait.Reason, wait.Age)
	}
	for reason, age := range now.Oldest {
		gauge(c.oldest, age.Seconds(), reason)
	}
	gauge(c.undecided, float64(now.Undecided))
}
