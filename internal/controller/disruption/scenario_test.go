package disruption

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// TestScenarios runs the files in testdata, with the verbs of controllertest and:
//
//	budget NAME min=2|50% | max=1|30%   selects the label app=web
//	scale OWNER to=4                    the number of pods that their owner requests
//	pod NAME [owner=rs] [app=web] [unready] [deleting] [phase=Succeeded] [mark=Reason]
//	grant pod=NAME budget=NAME          an eviction, as the API server grants it
//	reconcile pod=NAME|budget=NAME      prints requests, events and what is queued
func TestScenarios(t *testing.T) { controllertest.Walk(t, "testdata", newScenario) }

// world is the objects of a scenario.
type world struct {
	*controllertest.Scenario
	c       *Controller
	budgets *controllertest.Kind[*policyv1.PodDisruptionBudget]
	pods    *controllertest.Kind[*core.Pod]
	scaled  map[string]int32 // by owner; one that is missing has no scale
}

func newScenario() *controllertest.Scenario {
	s := controllertest.New("", 0)
	s.AllEvents = true
	w := &world{
		Scenario: s, scaled: map[string]int32{},
		budgets: controllertest.NewKind[*policyv1.PodDisruptionBudget](s, "budget",
			policyv1.Resource("poddisruptionbudgets")),
		pods: controllertest.NewKind[*core.Pod](s, "pod", corev1.Resource("pods")),
	}
	w.c = &Controller{
		budgets: w.budgets.Cache, pods: w.pods.Cache, scales: w, writeBudget: w.budgets, writePod: w.pods,
		events: w, clock: w.Now, queue: queue{w},
	}
	s.Objects["budget"], s.Objects["pod"], s.Objects["scale"], s.Objects["grant"] = w.putBudget, w.putPod, w.scale, w.grant
	s.Commands["reconcile"] = w.reconcile
	w.budgets.OnChange, w.pods.OnChange = w.c.onBudget, w.c.onPod
	w.budgets.Texts = map[string]func(_, _ *policyv1.PodDisruptionBudget) string{"status": statusText}
	w.pods.Texts = map[string]func(_, _ *core.Pod) string{"status": func(_, pod *core.Pod) string {
		c := condition(pod, corev1.DisruptionTarget)
		return fmt.Sprintf(": %s=%s", c.Type, c.Status)
	}}
	return s
}

// queue records the keys that are added.
type queue struct{ *world }

func (q queue) Add(key Key) { q.Record("queue %s", key.Budget+key.Pod) }

func (q queue) AddAfter(key Key, d time.Duration) { q.Record("queue %s in %v", key.Budget+key.Pod, d) }

func (w *world) ScaleOf(_ context.Context, _ string, owner *metav1.OwnerReference) (types.UID, int32, bool, error) {
	n, ok := w.scaled[owner.Name]
	return owner.UID, n, ok, nil
}

func statusText(_, b *policyv1.PodDisruptionBudget) string {
	s := b.Status
	text := fmt.Sprintf(": allowed=%d healthy=%d wanted=%d expected=%d generation=%d",
		s.DisruptionsAllowed, s.CurrentHealthy, s.DesiredHealthy, s.ExpectedPods, s.ObservedGeneration)
	if len(s.DisruptedPods) > 0 {
		text += fmt.Sprintf(" disrupted=%v", slices.Sorted(maps.Keys(s.DisruptedPods)))
	}
	for _, c := range s.Conditions {
		text += fmt.Sprintf(" %s=%s/%s(%s)", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func (w *world) putBudget(l *line.Line) {
	b := w.budgets.Edit(l.Name(), func() *policyv1.PodDisruptionBudget { return &policyv1.PodDisruptionBudget{} })
	b.Generation++
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	b.Spec.MinAvailable, b.Spec.MaxUnavailable = number(l.Text("min", "")), number(l.Text("max", ""))
	w.budgets.Put(b)
}

func number(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	return ptr.To(intstr.Parse(text))
}

func (w *world) scale(l *line.Line) { w.scaled[l.Name()] = l.Int32("to", 0) }

func (w *world) putPod(l *line.Line) {
	now := metav1.NewTime(w.Now.Now())
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: l.Name(), Labels: map[string]string{"app": l.Text("app", "web")}}}
	if live, ok := w.pods.Server[pod.Name]; ok {
		pod.UID = live.UID
	}
	if owner := l.Text("owner", ""); owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{
			{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)},
		}
	}
	pod.Status.Phase = corev1.PodPhase(l.Text("phase", ""))
	if !l.Has("unready") {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	}
	if mark := l.Text("mark", ""); mark != "" {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: mark, LastTransitionTime: now,
		})
	}
	if l.Has("deleting") {
		pod = controllertest.Deleted(pod, now.Time)
	}
	w.pods.Put(pod)
}

func (w *world) grant(l *line.Line) {
	b := w.budgets.Server[l.Text("budget", "")].DeepCopy()
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[l.Text("pod", "")] = metav1.NewTime(w.Now.Now())
	w.budgets.Put(b)
}

func (w *world) reconcile(l *line.Line) {
	key := Key{Namespace: "default", Budget: l.Text("budget", ""), Pod: l.Text("pod", "")}
	if err := w.c.Reconcile(context.Background(), key); err != nil {
		w.Record("error: %v", err)
	}
	lines := w.Lines
	w.Sync() // the controller's own writes
	w.Lines = lines
}
