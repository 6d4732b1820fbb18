package metrics

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestHandlerShowsWhatWasCountedAndWhatClientGoCounts(t *testing.T) {
	r := New()
	r.Claims.Generated("pod", 20*time.Millisecond)
	r.Claims.Refused("podgroup")
	r.Scheduler.Tried("gang", "placed", time.Millisecond)
	r.Scheduler.Committed("written", time.Second, 4)
	r.Scheduler.Preempted("gang", 4, 1)
	r.Scheduler.Waiting(1, 2)
	r.Templates.Wrote("create", true)
	r.Templates.Stands("gone", 3, 2, 1)
	r.Templates.Gone("gone")
	r.Templates.Stands("h100", 3, 2, 1)
	r.Templates.Synced(time.Second)
	New().Claims.Generated("pod", time.Second) // another control plane in the process
	answer := httptest.NewRecorder()
	r.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{
		`allot_claim_generation_seconds_bucket{owner="pod",le="0.016"} 0`,
		`allot_claim_generation_seconds_bucket{owner="pod",le="0.032"} 1`,
		`allot_claim_generation_seconds_count{owner="pod"} 1`,
		`allot_claim_generation_failures_total{owner="podgroup"} 1`,
		`allot_scheduling_attempt_seconds_count{result="placed",unit="gang"} 1`,
		`allot_commit_seconds_sum{result="written"} 1`,
		`allot_pods_bound_total 4`,
		`allot_preemptions_total{unit="gang"} 1`,
		`allot_preemption_victims_total{kind="pod"} 4`,
		`allot_preemption_victims_total{kind="podgroup"} 1`,
		`allot_waiting_units{state="parked"} 2`,
		`allot_templates_writes_total{result="ok",verb="create"} 1`,
		`allot_templates_namespaces{state="in_step",template="h100"} 2`,
		`allot_templates_sync_seconds_count 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
}
