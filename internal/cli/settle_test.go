package cli

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	testingclock "k8s.io/utils/clock/testing"

	apps "github.com/allot-dev/allot/api/apps/v1"
	batch "github.com/allot-dev/allot/api/batch/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// TestSettled shows what a snapshot of objects comes to: whether it has settled, what it waits for,
// and the tables.
//
//	objects: the documents are the snapshot; all but pods with an owner, ReplicaSets with one, claims and events were applied
func TestSettled(t *testing.T) {
	datadriven.Walk(t, "testdata/settle", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			s, err := readSnapshot(d.Input)
			if err != nil {
				return err.Error() + "\n"
			}
			done, waiting := Settled(s)
			var b strings.Builder
			fmt.Fprintf(&b, "settled: %t\n", done)
			for _, reason := range waiting {
				fmt.Fprintln(&b, "waiting for", reason)
			}
			fmt.Fprintln(&b)
			if err := s.WriteTables(&b); err != nil {
				t.Fatal(err)
			}
			return b.String()
		})
	})
}

func readSnapshot(text string) (Snapshot, error) {
	var s Snapshot
	manifests, errs := parse("file.yaml", []byte(text))
	if len(errs) > 0 {
		return s, errs[0]
	}
	for _, m := range manifests {
		if err := s.add(m); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Snapshot) add(m Manifest) error {
	if m.Object.GetNamespace() == "" {
		m.Object.SetNamespace("default")
	}
	applied := len(m.Object.GetOwnerReferences()) == 0
	var err error
	switch m.Object.GetKind() {
	case "PodGroup":
		s.PodGroups, err = typed(s.PodGroups, m, &scheduling.PodGroup{})
	case "ResourceClaim":
		applied = false
		s.Claims, err = typed(s.Claims, m, &resource.ResourceClaim{})
	case "Pod":
		s.Pods, err = typed(s.Pods, m, &core.Pod{})
	case "Deployment":
		s.Deployments, err = typed(s.Deployments, m, &apps.Deployment{})
	case "ReplicaSet":
		s.ReplicaSets, err = typed(s.ReplicaSets, m, &apps.ReplicaSet{})
	case "StatefulSet":
		s.StatefulSets, err = typed(s.StatefulSets, m, &apps.StatefulSet{})
	case "DaemonSet":
		s.DaemonSets, err = typed(s.DaemonSets, m, &apps.DaemonSet{})
	case "Job":
		s.Jobs, err = typed(s.Jobs, m, &batch.Job{})
	case "Event":
		applied = false
		var events []*corev1.Event
		if events, err = typed(events, m, &corev1.Event{}); err == nil {
			s.Events = append(s.Events, *events[0])
		}
	}
	if applied {
		gvk := m.Object.GroupVersionKind()
		s.Applied = append(s.Applied, Ref{gvk.Group, gvk.Kind, m.Object.GetNamespace(), m.Object.GetName()})
	}
	return err
}

func typed[T runtime.Object](list []T, m Manifest, obj T) ([]T, error) {
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.Object.Object, obj)
	return append(list, obj), err
}

// TestWatch follows a pod from Pending to Running: each change is printed as a line, and the last
// snapshot is returned.
func TestWatch(t *testing.T) {
	phase := func(phase string, ready string) Snapshot {
		s, err := readSnapshot("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: node-0}\n" +
			"status: {phase: " + phase + ", conditions: [{type: Ready, status: \"" + ready +
			"\", message: not yet}]}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}")
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	states := []Snapshot{
		phase("Pending", "False"),
		phase("Pending", "False"),
		phase("Running", "False"),
		phase("Running", "True"),
	}
	var lines []string
	w := &watcher{
		clock: testingclock.NewFakeClock(time.Unix(0, 0)), report: func(line string) { lines = append(lines, line) },
		changed: make(chan struct{}, 1), reported: map[Ref]reportedReason{}, explain: func(context.Context, *Snapshot) {},
		note: func(string) {}, count: func(int) {}, waits: func([]string) {},
	}
	w.take = func() Snapshot {
		s := states[0]
		if len(states) > 1 {
			states = states[1:]
		}
		w.change()
		return s
	}
	got, err := w.run(context.Background())
	if err != nil || !got.Settled || len(got.Waiting) != 0 {
		t.Errorf("run: %v, %+v", err, got)
	}
	if diff := cmp.Diff([]string{"pod/p: Pending on node-0", "pod/p: Running on node-0"}, lines); diff != "" {
		t.Errorf("unexpected lines (-want +got):\n%s", diff)
	}
}

// TestWatchGivesUp checks that the end of the context ends a watch, and that the error has the last
// state.
func TestWatchGivesUp(t *testing.T) {
	s, err := readSnapshot("apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nstatus: {phase: Pending}")
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{
		clock:  testingclock.NewFakeClock(time.Unix(0, 0)),
		report: func(string) {}, note: func(string) {}, count: func(int) {}, waits: func([]string) {},
		changed:  make(chan struct{}, 1),
		reported: map[Ref]reportedReason{},
		take:     func() Snapshot { return s },
		explain: func(_ context.Context, s *Snapshot) {
			s.Events = []corev1.Event{{Type: "Warning", Message: "no device"}}
		},
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	got, err := w.run(ctx)
	if err == nil || got.Settled {
		t.Errorf("run: %v, %+v", err, got)
	}
	var b strings.Builder
	if err := got.Write(&b); err != nil {
		t.Fatal(err)
	}
	want := "POD   PODGROUP   NODE   PHASE     CLAIMS\np     -          -      Pending   -\n\nwaiting for pod/p: is not scheduled: no device\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("unexpected text (-want +got):\n%s", diff)
	}
}

// TestReasonIsReported checks that a waiting group reports its reason, briefly, once for each state.
func TestReasonIsReported(t *testing.T) {
	state := func(reason, message string) Snapshot {
		s, err := readSnapshot(
			"apiVersion: scheduling.k8s.io/v1beta1\nkind: PodGroup\nmetadata: {name: g}\nspec: {schedulingPolicy: {gang: {minCount: 2}}}\n" +
				"status: {conditions: [{type: PodGroupScheduled, status: \"False\", reason: " + reason + ", message: \"" + message +
				"\"}]}",
		)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	var lines []string
	w := &watcher{
		report:   func(line string) { lines = append(lines, line) },
		count:    func(int) {},
		waits:    func([]string) {},
		reported: map[Ref]reportedReason{},
	}
	for _, s := range []Snapshot{
		state("Unschedulable", ""), state("Unschedulable", "1 of 2 pods exist"), state("Unschedulable", "held by a"),
		state("Unschedulable", "held by b"),
		state("SchedulerError", strings.Repeat("many words ", 30)),
	} {
		w.reportChanges(s)
	}
	want := []string{
		"podgroup/g: Unschedulable", "podgroup/g: Unschedulable: 1 of 2 pods exist",
		"podgroup/g: SchedulerError: " + strings.Repeat("many words ", 14) + "many …",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("unexpected lines (-want +got):\n%s", diff)
	}
}

// Each waiting object is reported in a line, until it has settled.
func TestWaitingObjectsAreReported(t *testing.T) {
	pod := func(name, status string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: " + name + "}\nspec: {}\nstatus: {" + status + "}\n"
	}
	const waits = `phase: Pending, conditions: [{type: PodScheduled, status: "False", message: no device}]`
	const runs = `phase: Running, conditions: [{type: Ready, status: "True"}]`
	var got []string
	w := &watcher{
		report: func(string) {}, count: func(int) {}, reported: map[Ref]reportedReason{},
		waits: func(lines []string) { got = append(got, strings.Join(lines, "; ")) },
	}
	both := pod("a", waits) + "---\n" + pod("b", "phase: Pending")
	for _, text := range []string{both, pod("a", waits), pod("a", runs)} {
		s, err := readSnapshot(text)
		if err != nil {
			t.Fatal(err)
		}
		w.reportChanges(s)
	}
	want := []string{"pod/a: no device; pod/b: is not scheduled", "pod/a: no device", ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
