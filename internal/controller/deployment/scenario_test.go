package deployment

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// The scenarios in testdata are about one Deployment "web". They have these verbs:
//
//	deploy replicas=3 image=v1 [surge=25%] [unavailable=25%] [recreate] [paused] [deadline=600]
//	       [history=10] [min-ready=5] [note=text] [deleting]   creates or replaces it
//	set image=v1 have=3 ready=3 available=3 [terminating=1] [failure=text]   a set's status
//	orphan image=v0 size=2 [app=web]     a set without owner
//	relabel image=v1 app=x               changes the labels of a set
//	pod image=v1 [phase=Running] | pod image=v1 gone
//	take image=v2                        puts somebody else's set at the name for the template
//	refuse with=(text) | allow           creation of sets
//	step [lag]                           reconciles once and prints all writes
//	roll                                 step, let all pods become available, until nothing changes
//	advance by=10s
//
// Sets are printed as web:<image>.
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
	"deploy": doDeploy, "set": doSet, "orphan": doOrphan, "relabel": doRelabel, "pod": doPod, "take": doTake,
	"refuse": doRefuse, "step": doStep, "roll": doRoll, "advance": doAdvance,
	"allow": func(_ *testing.T, w *world, _ *datadriven.TestData) { w.refuse = nil },
}

func template(image string) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func doDeploy(t *testing.T, w *world, d *datadriven.TestData) {
	var replicas, deadline, history, minReady int
	var image, surge, unavailable, note string
	d.ScanArgs(t, "replicas", &replicas)
	d.ScanArgs(t, "image", &image)
	for arg, into := range map[string]any{
		"surge": &surge, "unavailable": &unavailable, "deadline": &deadline, "history": &history,
		"min-ready": &minReady, "note": &note,
	} {
		d.MaybeScanArgs(t, arg, into)
	}
	dep := &apps.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if live, ok := w.server.deployments["web"]; ok {
		dep = live.DeepCopy()
	}
	n, h := int32(replicas), int32(history)
	dep.Generation++
	dep.Spec = apps.DeploymentSpec{
		Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: template(image), MinReadySeconds: int32(minReady), Paused: d.HasArg("paused"),
		Strategy: appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: amount(surge), MaxUnavailable: amount(unavailable),
			},
		},
	}
	if d.HasArg("recreate") {
		dep.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	if d.HasArg("history") {
		dep.Spec.RevisionHistoryLimit = &h
	}
	if deadline > 0 {
		seconds := int32(deadline)
		dep.Spec.ProgressDeadlineSeconds = &seconds
	}
	if note != "" {
		dep.Annotations = cloneMap(dep.Annotations)
		dep.Annotations["note"], dep.Annotations[corev1.LastAppliedConfigAnnotation] = note, "{}"
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.now.Now())
		dep.DeletionTimestamp = &now
	}
	w.stamp(&dep.ObjectMeta)
	w.server.deployments["web"] = dep
	if !d.HasArg("lag") {
		w.sync()
	}
}

func amount(text string) *intstr.IntOrString {
	if text == "" {
		text = "25%"
	}
	v := intstr.Parse(text)
	return &v
}

// setOf finds the server's set with an image.
func (w *world) setOf(t *testing.T, d *datadriven.TestData) *apps.ReplicaSet {
	var image string
	d.ScanArgs(t, "image", &image)
	for _, rs := range w.server.sets {
		if rs.Spec.Template.Spec.Containers[0].Image == image {
			return rs.DeepCopy()
		}
	}
	d.Fatalf(t, "no set with image %s", image)
	return nil
}

func (w *world) put(rs *apps.ReplicaSet) {
	w.stamp(&rs.ObjectMeta)
	w.server.sets[rs.Name] = rs
}

func doSet(t *testing.T, w *world, d *datadriven.TestData) {
	rs := w.setOf(t, d)
	var have, ready, available, terminating int
	var failure string
	d.ScanArgs(t, "have", &have)
	d.MaybeScanArgs(t, "ready", &ready)
	d.MaybeScanArgs(t, "available", &available)
	d.MaybeScanArgs(t, "terminating", &terminating)
	d.MaybeScanArgs(t, "failure", &failure)
	setStatus(rs, int32(have), int32(ready), int32(available), int32(terminating))
	if failure != "" {
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: failure,
		}}
	}
	w.put(rs)
	if !d.HasArg("lag") {
		w.sync()
	}
}

func setStatus(rs *apps.ReplicaSet, have, ready, available, terminating int32) {
	rs.Status = appsv1.ReplicaSetStatus{
		Replicas: have, ReadyReplicas: ready, AvailableReplicas: available, TerminatingReplicas: &terminating,
		ObservedGeneration: rs.Generation,
	}
}

func doOrphan(t *testing.T, w *world, d *datadriven.TestData) {
	var image string
	var size int
	app := "web"
	d.ScanArgs(t, "image", &image)
	d.ScanArgs(t, "size", &size)
	d.MaybeScanArgs(t, "app", &app)
	n := int32(size)
	rs := &apps.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "orphan-" + image, Labels: map[string]string{"app": app}},
		Spec:       apps.ReplicaSetSpec{Replicas: &n, Template: template(image)},
	}
	setStatus(rs, n, n, n, 0)
	w.put(rs)
	w.sync()
}

func doRelabel(t *testing.T, w *world, d *datadriven.TestData) {
	var app string
	d.ScanArgs(t, "app", &app)
	rs := w.setOf(t, d)
	rs.Labels = map[string]string{"app": app}
	w.put(rs)
	w.sync()
}

func doPod(t *testing.T, w *world, d *datadriven.TestData) {
	phase := "Running"
	d.MaybeScanArgs(t, "phase", &phase)
	rs := w.setOf(t, d)
	if d.HasArg("gone") {
		delete(w.server.pods, rs.Name)
	} else {
		w.server.pods[rs.Name] = &core.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: rs.Name, Namespace: "default",
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(rs,
					appsv1.SchemeGroupVersion.WithKind("ReplicaSet"))},
			},
			Status: corev1.PodStatus{Phase: corev1.PodPhase(phase)},
		}
	}
	w.sync()
}

func doTake(t *testing.T, w *world, d *datadriven.TestData) {
	var image string
	d.ScanArgs(t, "image", &image)
	wanted := template(image)
	hash, err := hashOf(&wanted, nil)
	if err != nil {
		t.Fatal(err)
	}
	w.put(&apps.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: setName("web", hash), OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "other", UID: "other"}, kind),
		}},
		Spec: apps.ReplicaSetSpec{Template: template("another")},
	})
	w.sync()
}

func doRefuse(t *testing.T, w *world, d *datadriven.TestData) {
	var with string
	d.ScanArgs(t, "with", &with)
	w.refuse = errors.New(with)
}

func doStep(_ *testing.T, w *world, d *datadriven.TestData) {
	if err := w.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: "web"}); err != nil {
		w.say("error: %s", hashes.ReplaceAllString(err.Error(), "web-HASH"))
	}
	for i, line := range w.lines {
		w.lines[i] = hashes.ReplaceAllString(line, "web-HASH")
	}
	if !d.HasArg("lag") {
		w.sync()
	}
	clear(w.queued) // by its own writes
}

var hashes = regexp.MustCompile(`web-[a-z0-9]{6,10}`)

func doRoll(t *testing.T, w *world, d *datadriven.TestData) {
	var rounds []string
	for range 50 {
		doStep(t, w, d)
		quiet := len(w.lines) == 0 || len(w.lines) == 1 && strings.HasPrefix(w.lines[0], "again in")
		w.lines = slices.DeleteFunc(w.lines, func(line string) bool {
			return strings.HasPrefix(line, "again in") || strings.HasPrefix(line, "status:")
		})
		rounds = append(rounds, w.lines...)
		w.lines = nil
		moved := false
		for _, rs := range w.server.sets {
			if n := sizeOf(rs); rs.Status.AvailableReplicas != n || rs.Status.ObservedGeneration != rs.Generation {
				rs = rs.DeepCopy()
				setStatus(rs, n, n, n, 0)
				w.put(rs)
				moved = true
			}
		}
		w.sync()
		clear(w.queued)
		w.now.Step(time.Second)
		if quiet && !moved {
			rounds = append(rounds, describe(&apps.Deployment{}, w.server.deployments["web"]))
			w.lines = rounds
			return
		}
	}
	w.lines = append(rounds, fmt.Sprintf("no end after %d rounds", 50))
}

func doAdvance(t *testing.T, w *world, d *datadriven.TestData) {
	var by string
	d.ScanArgs(t, "by", &by)
	step, err := time.ParseDuration(by)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	w.now.Step(step)
}
