package disruption

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a server whose writes the caches see at once, and a controller. Writes, events and
// queued keys are collected as lines.
type world struct {
	*Controller
	storedPods    controllertest.Store[*core.Pod]
	storedBudgets controllertest.Store[*policyv1.PodDisruptionBudget]
	scaled        map[string]int32 // by owner; one that is missing has no scale
	now           *testclock.FakeClock
	version       int
	lines         []string
}

func newWorld() *world {
	w := &world{
		storedPods: controllertest.Store[*core.Pod]{}, storedBudgets: controllertest.Store[*policyv1.PodDisruptionBudget]{},
		scaled: map[string]int32{}, now: testclock.NewFakeClock(epoch),
	}
	w.Controller = &Controller{
		budgets: w.storedBudgets,
		pods:    w.storedPods,
		scales:  w,
		write:   w,
		events:  w,
		clock:   w.now,
		queue:   w,
	}
	return w
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *world) flush() string {
	if len(w.lines) == 0 {
		return "ok\n"
	}
	out := strings.Join(w.lines, "\n") + "\n"
	w.lines = nil
	return out
}

func (w *world) stamp(m *metav1.ObjectMeta) {
	w.version++
	m.Namespace, m.ResourceVersion = "default", strconv.Itoa(w.version)
}

func (w *world) ScaleOf(_ context.Context, _ string, owner *metav1.OwnerReference) (types.UID, int32, bool, error) {
	n, ok := w.scaled[owner.Name]
	return owner.UID, n, ok, nil
}

func (w *world) UpdateBudgetStatus(_ context.Context, b *policyv1.PodDisruptionBudget) error {
	b = b.DeepCopy()
	w.stamp(&b.ObjectMeta)
	w.storedBudgets[b.Name] = b
	s := b.Status
	line := fmt.Sprintf("status %s: allowed=%d healthy=%d wanted=%d expected=%d generation=%d",
		b.Name, s.DisruptionsAllowed, s.CurrentHealthy, s.DesiredHealthy, s.ExpectedPods, s.ObservedGeneration)
	if len(s.DisruptedPods) > 0 {
		line += fmt.Sprintf(" disrupted=%v", slices.Sorted(maps.Keys(s.DisruptedPods)))
	}
	for _, c := range s.Conditions {
		line += fmt.Sprintf(" %s=%s/%s(%s)", c.Type, c.Status, c.Reason, c.Message)
	}
	w.say("%s", line)
	return nil
}

func (w *world) UpdatePodStatus(_ context.Context, pod *core.Pod) error {
	pod = pod.DeepCopy()
	w.stamp(&pod.ObjectMeta)
	w.storedPods[pod.Name] = pod
	c := condition(pod, corev1.DisruptionTarget)
	w.say("pod %s: %s=%s", pod.Name, c.Type, c.Status)
	return nil
}

func (w *world) Eventf(_ runtime.Object, _, reason, format string, args ...any) {
	w.say("event %s %s", reason, fmt.Sprintf(format, args...))
}

func (w *world) Add(key Key) { w.say("queue %s", key.Budget+key.Pod) }

func (w *world) AddAfter(key Key, d time.Duration) { w.say("queue %s in %v", key.Budget+key.Pod, d) }
