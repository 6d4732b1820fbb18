package metrics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/allot-dev/allot/internal/inventory"
)

// exercised returns a Registry in which each metric has a value.
func exercised() *Registry {
	r := New()
	r.Claims.Generated("pod", false, 20*time.Millisecond)
	r.Claims.Refused("podgroup", true)
	r.Claims.Watch(func() map[ClaimTrait]int {
		return map[ClaimTrait]int{{Allocated: true, Source: "extended_resource"}: 3}
	})
	r.Evictions.DeviceTainted(time.Second)
	r.Evictions.NodeTainted()
	r.Guard.Refused()
	s := r.Scheduler
	s.Tried("gang", "placed", time.Millisecond, 5)
	s.Ended(inventory.Outcome{
		Profile: "p", Unit: "gang", Result: inventory.Scheduled, Pods: 4, Took: time.Second, Waited: time.Minute, Attempts: 20,
	})
	s.Ended(inventory.Outcome{Profile: "p", Unit: "gang", Result: inventory.WaitingOnPreemption, Pods: 2})
	s.Committed("written", time.Second, 4)
	s.Created(2)
	s.Searched("pod", true, time.Millisecond)
	s.Searched("gang", false, time.Millisecond)
	s.Preempted("gang", 4, 1)
	s.Preempted("pod", 1, 0)
	s.Evicted("preemption", 5)
	s.RolledBack()
	s.Freed("reclaimed")
	s.Waiting(1, 2)
	s.Watch(func(context.Context) (*inventory.Counts, error) {
		return &inventory.Counts{
			Pools:   []inventory.PoolCount{{Driver: "gpu.example.com", Pool: "rack"}},
			Classes: []inventory.ClassCount{{Class: "gpu"}},
			Claims:  map[inventory.ClaimState]int{inventory.ClaimInUse: 7},
			Pods:    map[inventory.PodQueue]int{inventory.Active: 8},
			Gangs:   map[inventory.GangWait]int{{Reason: "Devices", Age: inventory.AgeOf(time.Hour)}: 9},
			Oldest:  map[string]time.Duration{"Devices": time.Hour}, Undecided: 1,
		}, nil
	})
	r.Templates.Wrote("create", true)
	r.Templates.Stands("gone", 3, 2, 1)
	r.Templates.Gone("gone")
	r.Templates.Stands("h100", 3, 2, 1)
	r.Templates.Synced(time.Second)
	return r
}

func scrape(t *testing.T, r *Registry) string {
	t.Helper()
	answer := httptest.NewRecorder()
	r.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return answer.Body.String()
}

func TestHandlerShowsWhatWasCountedAndWhatClientGoCounts(t *testing.T) {
	r := exercised()
	New().Claims.Generated("pod", false, time.Second) // another control plane in the process
	text := scrape(t, r)
	for _, want := range []string{
		`allot_claim_generation_seconds_bucket{owner="pod",le="0.016"} 0`,
		`allot_claim_generation_seconds_bucket{owner="pod",le="0.032"} 1`,
		`allot_claim_generation_seconds_count{owner="pod"} 1`,
		`allot_claim_generation_failures_total{owner="podgroup"} 1`,
		`dynamic_resource_allocation_resourceclaim_creates_total{admin_access="false",` +
			`owner_api_group="",owner_api_kind="Pod",status="success"} 3`,
		`dynamic_resource_allocation_resourceclaim_creates_total{admin_access="true",` +
			`owner_api_group="scheduling.k8s.io",owner_api_kind="PodGroup",status="failure"} 1`,
		`dynamic_resource_allocation_resource_claims{admin_access="false",allocated="true",source="extended_resource"} 3`,
		`allot_evictions_total{cause="device_taint"} 1`,
		`allot_evictions_total{cause="node_taint"} 1`,
		`device_taint_eviction_controller_pod_deletions_total 1`,
		`allot_scheduling_attempt_seconds_count{result="placed",unit="gang"} 1`,
		`scheduler_schedule_attempts_total{profile="p",result="scheduled"} 4`,
		`scheduler_schedule_attempts_total{profile="p",result="unschedulable"} 2`,
		`scheduler_podgroup_schedule_attempts_total{profile="p",result="waiting_on_preemption"} 1`,
		`scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="15+"} 240`,
		`scheduler_pod_scheduling_attempts_sum 80`,
		`allot_commit_seconds_sum{result="written"} 1`,
		`allot_pods_bound_total 4`,
		`allot_preemptions_total{unit="gang"} 1`,
		`allot_preemption_victims_total{kind="pod"} 5`,
		`scheduler_workload_preemption_victims_sum 4`,
		`scheduler_preemption_victims_sum 1`,
		`allot_waiting_units{state="parked"} 2`,
		`allot_waiting_gangs{age="below_1d",reason="Devices"} 9`,
		`allot_oldest_waiting_gang_seconds{reason="Devices"} 3600`,
		`scheduler_pending_pods{queue="active"} 8`,
		`allot_templates_writes_total{result="ok",verb="create"} 1`,
		`allot_templates_namespaces{state="in_step",template="h100"} 2`,
		`allot_templates_sync_seconds_count 1`,
		`go_goroutines`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("/metrics lacks %s", want)
		}
	}
	if strings.Contains(text, `template="gone"`) {
		t.Error("/metrics has series of a deleted template")
	}
}

func TestASchedulerThatDoesNotRunHasNoCounts(t *testing.T) {
	r := New()
	r.Scheduler.Watch(func(context.Context) (*inventory.Counts, error) { return nil, errors.New("another one leads") })
	text := scrape(t, r)
	if strings.Contains(text, "scheduler_pending_pods") || !strings.Contains(text, "allot_pods_bound_total") {
		t.Errorf("of a scheduler that does not run:\n%s", text)
	}
}

// TestMetricsAreWellFormed runs the checks of promtool check metrics.
func TestMetricsAreWellFormed(t *testing.T) {
	families, err := exercised().registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil || len(problems) > 0 {
		t.Errorf("%v %v", err, problems)
	}
}

// described matches the result of Desc.String.
var described = regexp.MustCompile(`fqName: "([^"]*)".*variableLabels: \{([^}]*)\}`)

// TestMetricsAreDocumented checks that docs/metrics.md has a row for each metric, with its type and
// labels, and no other rows.
func TestMetricsAreDocumented(t *testing.T) {
	r := exercised()
	families, err := r.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	types := map[string]string{}
	for _, family := range families {
		types[family.GetName()] = strings.ToLower(family.GetType().String())
	}
	got := map[string]string{}
	for desc := range describe(r.registry) {
		parts := described.FindStringSubmatch(desc.String())
		got[parts[1]] = fmt.Sprintf("%s of %s", types[parts[1]], parts[2])
	}
	text, err := os.ReadFile("../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| ([a-z]+) \\|([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		labels := strings.NewReplacer("`", "", " ", "").Replace(row[3])
		documented[row[1]] = fmt.Sprintf("%s of %s", row[2], labels)
	}
	if diff := cmp.Diff(got, documented); diff != "" {
		t.Errorf("docs/metrics.md (-metrics +rows):\n%s", diff)
	}
}

// describe returns the descriptions of all metrics of a registry.
func describe(registry *prometheus.Registry) <-chan *prometheus.Desc {
	ch := make(chan *prometheus.Desc)
	go func() {
		registry.Describe(ch)
		close(ch)
	}()
	return ch
}
