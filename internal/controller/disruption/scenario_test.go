package disruption

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	core "github.com/allot-dev/allot/api/core/v1"
)

// The scenarios in testdata have these verbs:
//
//	budget name=b min=2|50% | max=1|30%   selects the label app=web
//	scale owner=rs to=4                   what the owner of pods asks for
//	pod name=a [owner=rs] [app=web] [unready] [deleting] [phase=Succeeded] [mark=Reason]
//	remove pod=a
//	grant pod=a budget=b                  an eviction, as the API server grants it
//	advance by=1m
//	reconcile budget=b | pod=a            prints writes, events and what is queued
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			handler, ok := handlers[d.Cmd]
			if !ok {
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			handler(t, w, d)
			return w.flush()
		})
	})
}

var handlers = map[string]func(*testing.T, *world, *datadriven.TestData){
	"budget": doBudget, "scale": doScale, "pod": doPod, "remove": doRemove, "grant": doGrant, "advance": doAdvance,
	"reconcile": doReconcile,
}

func doBudget(t *testing.T, w *world, d *datadriven.TestData) {
	var name, least, most string
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "min", &least)
	d.MaybeScanArgs(t, "max", &most)
	b := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Name: name}}
	before, ok := w.storedBudgets[name]
	if ok {
		b = before.DeepCopy()
	}
	b.Generation++
	b.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	b.Spec.MinAvailable, b.Spec.MaxUnavailable = number(least), number(most)
	w.stamp(&b.ObjectMeta)
	w.storedBudgets[name] = b
	w.onBudget(before, b)
}

func number(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	n := intstr.Parse(text)
	return &n
}

func doScale(t *testing.T, w *world, d *datadriven.TestData) {
	var owner string
	var n int32
	d.ScanArgs(t, "owner", &owner)
	d.ScanArgs(t, "to", &n)
	w.scaled[owner] = n
}

func doPod(t *testing.T, w *world, d *datadriven.TestData) {
	var name, owner, phase, mark string
	app := "web"
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "owner", &owner)
	d.MaybeScanArgs(t, "app", &app)
	d.MaybeScanArgs(t, "phase", &phase)
	d.MaybeScanArgs(t, "mark", &mark)
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}}
	if owner != "" {
		yes := true
		pod.OwnerReferences = []metav1.OwnerReference{
			{Kind: "ReplicaSet", Name: owner, UID: types.UID(owner), Controller: &yes},
		}
	}
	now := metav1.NewTime(w.now.Now())
	if d.HasArg("deleting") {
		pod.DeletionTimestamp = &now
	}
	pod.Status.Phase = corev1.PodPhase(phase)
	if !d.HasArg("unready") {
		pod.Status.Conditions = append(pod.Status.Conditions,
			corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
	}
	if mark != "" {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: mark, LastTransitionTime: now,
		})
	}
	before := w.storedPods[name]
	w.stamp(&pod.ObjectMeta)
	w.storedPods[name] = pod
	w.onPod(before, pod)
}

func doRemove(t *testing.T, w *world, d *datadriven.TestData) {
	var name string
	d.ScanArgs(t, "pod", &name)
	pod := w.storedPods[name]
	delete(w.storedPods, name)
	w.onPod(pod, nil)
}

func doGrant(t *testing.T, w *world, d *datadriven.TestData) {
	var name, budget string
	d.ScanArgs(t, "pod", &name)
	d.ScanArgs(t, "budget", &budget)
	b := w.storedBudgets[budget].DeepCopy()
	b.Status.DisruptionsAllowed--
	if b.Status.DisruptedPods == nil {
		b.Status.DisruptedPods = map[string]metav1.Time{}
	}
	b.Status.DisruptedPods[name] = metav1.NewTime(w.now.Now())
	w.storedBudgets[budget] = b
}

func doAdvance(t *testing.T, w *world, d *datadriven.TestData) {
	var by string
	d.ScanArgs(t, "by", &by)
	span, err := time.ParseDuration(by)
	if err != nil {
		t.Fatal(err)
	}
	w.now.Step(span)
}

func doReconcile(t *testing.T, w *world, d *datadriven.TestData) {
	key := Key{Namespace: "default"}
	d.MaybeScanArgs(t, "budget", &key.Budget)
	d.MaybeScanArgs(t, "pod", &key.Pod)
	if err := w.Reconcile(t.Context(), key); err != nil {
		w.say("error: %v", err)
	}
}
