package scheduler

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/inventory"
	"github.com/allot-dev/allot/internal/model"
)

// counts returns what a scrape would, without zeros, as sorted lines.
func (x *session) counts() []string {
	x.t.Helper()
	counts := x.s.census.count()
	if counts == nil {
		x.t.Fatal("the pools of a small fleet are not counted at once")
	}
	var lines []string
	add := func(n int, format string, args ...any) {
		if n != 0 {
			lines = append(lines, fmt.Sprintf("%s: %d", fmt.Sprintf(format, args...), n))
		}
	}
	for _, state := range inventory.DeviceStates() {
		for _, pool := range counts.Pools {
			add(pool.States[state], "devices %s", state)
		}
	}
	for state, n := range counts.Claims {
		add(n, "claims %s", state)
	}
	for queue, n := range counts.Pods {
		add(n, "pods %s", queue)
	}
	for wait, n := range counts.Gangs {
		add(n, "gangs %s %s", wait.Reason, wait.Age)
	}
	for reason, age := range counts.Oldest {
		add(int(age.Seconds()), "oldest %s", reason)
	}
	slices.Sort(lines)
	return lines
}

// checkCounts checks that what is counted on changes is what is there.
func (x *session) checkCounts() {
	x.t.Helper()
	counts := x.s.census.count()
	anew := inventory.New(x.s.state, x.s.placer.ClassDevices)
	anew.Update(1 << 20)
	if diff := cmp.Diff(anew.Pools(namedPools), counts.Pools); diff != "" {
		x.t.Errorf("devices (-counted anew +followed):\n%s", diff)
	}
	waiting := 0
	x.s.state.Pods.Each(func(pod *model.Pod) {
		if pod.Node == "" && pod.Live() && !pod.Foreign {
			waiting++
		}
	})
	sum := 0
	for n := range maps.Values(counts.Pods) {
		sum += n
	}
	if sum != waiting {
		x.t.Errorf("%d pods in queues, of %d", sum, waiting)
	}
}

func (x *session) wantCounts(want ...string) {
	x.t.Helper()
	if diff := cmp.Diff(want, x.counts()); diff != "" {
		x.t.Error(diff)
	}
}

func TestCountsOfWhatWaitsAndRuns(t *testing.T) {
	s, x := startWithTwoGangs(t)
	s.addGang("few", 2)
	s.addPod("few-0", "few")
	s.addPod("stray", "missing")
	s.addPod("gated", "", gated)
	s.addPod("big", "", func(pod *core.Pod) {
		pod.Spec.Containers[0].Resources.Requests["cpu"] = apiresource.MustParse("1000")
	})
	x.pass(2 * time.Minute)
	x.wantCounts(
		"claims in_use: 2", "claims pending: 3", "devices allocated: 2",
		"gangs BelowQuorum below_1h: 1", "gangs Devices below_1h: 1", "gangs GroupMissing below_1h: 1",
		"oldest BelowQuorum: 1082", "oldest Devices: 1097", "oldest GroupMissing: 1078",
		"pods gated: 2", "pods incomplete: 1", "pods unschedulable: 4",
	)
	for _, name := range []string{"fits", "large", "few"} {
		s.removeGang(name)
	}
	for _, name := range []string{"stray", "gated", "big"} {
		s.deletePod(name)
	}
	x.pass(time.Minute)
	x.wantCounts("devices free: 2")
	if len(x.s.histories) > 0 {
		t.Errorf("histories of deleted units: %v", x.s.histories)
	}
}

func TestCountsOfASchedulerThatDoesNotRun(t *testing.T) {
	x := start(t, newServer(t))
	if _, err := x.s.Counts(t.Context()); !errors.Is(err, errNotRunning) {
		t.Errorf("err = %v", err)
	}
	x.s.ready = func(context.Context) error { return nil }
	x.s.workers = nil
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- x.s.Run(ctx) }()
	counts, err := x.s.Counts(t.Context())
	for errors.Is(err, errNotRunning) { // it is only starting
		counts, err = x.s.Counts(t.Context())
	}
	if err != nil || len(counts.Pods) != len(inventory.PodQueues()) {
		t.Errorf("counts = %v, %v", counts, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}
