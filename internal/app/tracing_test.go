package app

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"time"

	tracesv1 "go.opentelemetry.io/proto/otlp/trace/v1"
	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/testkit/tracecollector"
)

// A PodGroup has one trace: the attempts to place it, the writes, and the requests that they consist
// of, up to the bind of its last pod.
func TestGroupsAreTraced(t *testing.T) {
	c := tracecollector.Start(t)
	i, err := Start(t.Context(), Options{
		DataDir: t.TempDir(), Listen: "127.0.0.1:0", UnsafeNoFsync: true, TracingFile: c.File, Fleet: fleet.Simple(1, 1),
	})
	if err != nil {
		t.Fatal(err)
	}
	set := kubernetes.NewForConfigOrDie(i.Server.Loopback())
	gang := schedulingv1beta1.PodGroupSchedulingPolicy{Gang: &schedulingv1beta1.GangSchedulingPolicy{MinCount: 2}}
	group := &schedulingv1beta1.PodGroup{ObjectMeta: metav1.ObjectMeta{Name: "g"}}
	group.Spec.SchedulingPolicy = gang
	if _, err := set.SchedulingV1beta1().PodGroups("default").Create(t.Context(), group, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"g-0", "g-1"} {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group.Name}
		pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "i"}}
		if _, err := set.CoreV1().Pods("default").Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		pod, err := set.CoreV1().Pods("default").Get(t.Context(), "g-1", metav1.GetOptions{})
		if err == nil && pod.Spec.NodeName != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the gang is not bound: %v", err)
		}
	}
	if err := i.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	checkTrace(t, c.Spans())
}

// checkTrace checks that the trace of the PodGroup has an attempt, a write, and a request of it.
func checkTrace(t *testing.T, spans []*tracesv1.Span) {
	t.Helper()
	root := slices.IndexFunc(spans, func(s *tracesv1.Span) bool { return s.GetName() == "Schedule podgroup" })
	if root < 0 {
		t.Fatalf("no trace of the PodGroup among %d spans", len(spans))
	}
	var names []string
	for _, span := range spans {
		if bytes.Equal(span.GetTraceId(), spans[root].GetTraceId()) {
			names = append(names, span.GetName())
		}
	}
	for _, want := range []string{"Place", "Write plan", "POST /apis/"} {
		if !slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, want) }) {
			t.Errorf("no span %q in the trace: %q", want, names)
		}
	}
}
