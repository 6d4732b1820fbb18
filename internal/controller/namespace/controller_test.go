package namespace

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

func (w *world) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	got, err := w.reconcile()
	if err != nil {
		got = append(got, "error: "+err.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
}

// trueConditions returns the conditions that are True, with their messages.
func (w *world) trueConditions() map[corev1.NamespaceConditionType]string {
	told := map[corev1.NamespaceConditionType]string{}
	for _, c := range w.ns.Status.Conditions {
		if c.Status == corev1.ConditionTrue {
			told[c.Type] = c.Reason + ": " + c.Message
		}
	}
	return told
}

func (w *world) expectTold(t *testing.T, want map[corev1.NamespaceConditionType]string) {
	t.Helper()
	if diff := cmp.Diff(want, w.trueConditions()); diff != "" {
		t.Errorf("conditions that are True (-want +got):\n%s", diff)
	}
}

func TestEmptyNamespaceIsDeletedImmediately(t *testing.T) {
	w := newWorld()
	w.expect(t, "empty", "finalize [example.com/own]")
	w.expect(t, "released")
	if len(w.ns.Status.Conditions) > 0 {
		t.Errorf("conditions %v were written for nothing", w.ns.Status.Conditions)
	}
}

func TestPodsAreDeletedFirst(t *testing.T) {
	w := newWorld()
	w.add("pods", "p")
	w.add("configmaps", "c")
	w.add("nodes", "n")
	w.expect(t, "first", "delete all pods", "status", "x again in 200ms")
	w.expectTold(t, map[corev1.NamespaceConditionType]string{
		corev1.NamespaceContentRemaining: "SomeResourcesRemain: Some resources are remaining: pods. has 1 resource instances",
	})
	w.expect(t, "no second request, no second status", "x again in 400ms")

	w.onPod(&core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x"}}, nil)
	w.content["pods"] = nil
	w.expect(t, "pods are gone", "delete all configmaps", "finalize [example.com/own]", "x again in 20ms")
	if len(w.content["nodes"]) != 1 {
		t.Error("cluster-wide objects were deleted")
	}
}

func TestFinalizersDelayTheNamespace(t *testing.T) {
	w := newWorld()
	w.add("things", "a", "example.com/f")
	w.add("things", "b", "example.com/f", "example.com/g")
	w.add("things", "c")
	w.expect(t, "first", "delete things/a", "delete things/b", "delete things/c", "status", "x again in 200ms")
	w.expectTold(t, map[corev1.NamespaceConditionType]string{
		corev1.NamespaceContentRemaining:    "SomeResourcesRemain: Some resources are remaining: things.example.com has 2 resource instances",
		corev1.NamespaceFinalizersRemaining: "SomeFinalizersRemain: Some content in the namespace has finalizers remaining: example.com/f in 2 resource instances, example.com/g in 1 resource instances",
	})
	w.content["things"] = nil
	w.expect(t, "finalizers are done", "finalize [example.com/own]")
}

func TestFailuresAreReportedAndRetried(t *testing.T) {
	w := newWorld()
	w.add("configmaps", "c")
	w.refused["configmaps"] = errors.New("not today")
	w.expect(t, "refused", "delete all configmaps", "status", "error: namespace x: delete content: configmaps: not today")
	w.expectTold(t, map[corev1.NamespaceConditionType]string{
		corev1.NamespaceDeletionContentFailure: "ContentDeletionFailed: Failed to delete all resource types, 1 remaining: configmaps: not today",
	})
	delete(w.refused, "configmaps")

	w.broken = errors.New("a group is down")
	got, err := w.reconcile()
	if diff := cmp.Diff([]string{"delete all configmaps", "status"}, got); diff != "" {
		t.Errorf("partial discovery (-want +got):\n%s", diff)
	}
	if !errors.Is(err, w.broken) {
		t.Errorf("error %v", err)
	}
	if text := w.trueConditions()[corev1.NamespaceDeletionDiscoveryFailure]; !strings.HasSuffix(text, "a group is down") {
		t.Errorf("condition says %q", text)
	}
	w.broken = nil
	w.expect(t, "all is well", "finalize [example.com/own]")
}

func TestActiveNamespacesAreIgnored(t *testing.T) {
	w := newWorld()
	w.add("configmaps", "c")
	w.ns.DeletionTimestamp = nil
	w.expect(t, "alive")
	w.onNamespace(nil, w.ns)
	w.onPod(&core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x"}}, nil)
	if len(w.lines) > 0 {
		t.Errorf("events of a living namespace: %v", w.lines)
	}
	w.ns = nil
	w.expect(t, "gone")
}

func TestPhaseIsSetIfTheServerDidNot(t *testing.T) {
	w := newWorld()
	w.ns.Status.Phase = corev1.NamespaceActive
	w.add("things", "a", "example.com/f")
	w.expect(t, "first", "delete things/a", "status", "x again in 200ms")
	if w.ns.Status.Phase != corev1.NamespaceTerminating {
		t.Errorf("phase %s", w.ns.Status.Phase)
	}
}
