package replicaset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

var (
	kind         = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")
	kindResource = appsv1.Resource("replicasets")
)

// The scenarios in testdata have these verbs:
//
//	set name=web replicas=3 [min-ready=10] [owner=d] [uid=u] [deleting]
//	pod name=a [owner=web] [app=web] [node=n] [phase=Running] [ready=30s] [age=1m]
//	    [cost=5] [restarts=2] [sidecar-restarts=1] [deleting]
//	remove pod=a | set=web        from the server
//	refuse verb=create|delete [with=(text) | terminating]; without "with": allow again
//	lose [verb=(create,delete)]          such requests are made, and their responses are lost
//	sync [pods]                   the cache sees the server, or only its pods
//	advance by=10s
//	reconcile name=web            prints writes and warnings
//	pods                          prints the server's pods
//
// set and pod write to the server; with "lag" the cache does not see it yet.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			handler, ok := handlers[d.Cmd]
			if !ok {
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			return handler(t, w, d)
		})
	})
}

var handlers = map[string]func(*testing.T, *world, *datadriven.TestData) string{
	"set": doSet, "pod": doPod, "remove": doRemove, "refuse": doRefuse, "lose": doLose, "advance": doAdvance,
	"reconcile": doReconcile, "pods": doPods,
	"sync": doSync,
}

func doSync(_ *testing.T, w *world, d *datadriven.TestData) string {
	if d.HasArg("pods") {
		w.syncPods()
	} else {
		w.sync()
	}
	return w.flush()
}

func doSet(t *testing.T, w *world, d *datadriven.TestData) string {
	var name, owner, uid string
	var replicas, minReady int
	d.ScanArgs(t, "name", &name)
	d.ScanArgs(t, "replicas", &replicas)
	d.MaybeScanArgs(t, "min-ready", &minReady)
	d.MaybeScanArgs(t, "owner", &owner)
	d.MaybeScanArgs(t, "uid", &uid)
	rs := &apps.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if live, ok := w.server.sets[name]; ok && uid == "" {
		rs = live.DeepCopy()
	}
	rs.Generation++
	if uid != "" {
		rs.UID = types.UID(uid)
	}
	n := int32(replicas)
	rs.Spec.Replicas, rs.Spec.MinReadySeconds = &n, int32(minReady)
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs.Spec.Template.Labels = map[string]string{"app": "web", "tier": "front"}
	if owner != "" {
		yes := true
		rs.OwnerReferences = []metav1.OwnerReference{
			{Kind: "Deployment", Name: owner, UID: types.UID(owner), Controller: &yes},
		}
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.now.Now())
		rs.DeletionTimestamp = &now
	}
	w.stamp(&rs.ObjectMeta)
	w.server.sets[name] = rs
	if !d.HasArg("lag") {
		w.sync()
	}
	return w.flush()
}

func doPod(t *testing.T, w *world, d *datadriven.TestData) string {
	pod := podFrom(t, w, d)
	w.stamp(&pod.ObjectMeta)
	w.server.pods[pod.Name] = pod
	if !d.HasArg("lag") {
		w.sync()
	}
	return w.flush()
}

func podFrom(t *testing.T, w *world, d *datadriven.TestData) *core.Pod {
	var name, owner, cost, phase, ready, age string
	app, restarts, sidecar := "web", 0, 0
	d.ScanArgs(t, "name", &name)
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if live, ok := w.server.pods[name]; ok {
		pod = live.DeepCopy()
		app = live.Labels["app"]
	}
	for arg, into := range map[string]any{
		"owner": &owner, "app": &app, "node": &pod.Spec.NodeName, "phase": &phase, "ready": &ready, "age": &age,
		"cost": &cost, "restarts": &restarts, "sidecar-restarts": &sidecar,
	} {
		d.MaybeScanArgs(t, arg, into)
	}
	pod.Labels = map[string]string{"app": app, "tier": "front"}
	if owner != "" {
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.server.sets[owner], kind)}
	}
	if phase != "" {
		pod.Status.Phase = corev1.PodPhase(phase)
	}
	if cost != "" {
		pod.Annotations = map[string]string{corev1.PodDeletionCost: cost}
	}
	if age != "" {
		pod.CreationTimestamp = w.ago(t, age)
	}
	if ready != "" {
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: w.ago(t, ready)},
		}
	}
	if restarts > 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: int32(restarts)}}
	}
	if sidecar > 0 {
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "side", RestartCount: int32(sidecar)}}
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.now.Now())
		pod.DeletionTimestamp = &now
	}
	return pod
}

func (w *world) ago(t *testing.T, text string) metav1.Time {
	age, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return metav1.NewTime(w.now.Now().Add(-age))
}

func doRemove(t *testing.T, w *world, d *datadriven.TestData) string {
	var pod, set string
	d.MaybeScanArgs(t, "pod", &pod)
	d.MaybeScanArgs(t, "set", &set)
	delete(w.server.pods, pod)
	delete(w.server.sets, set)
	if !d.HasArg("lag") {
		w.sync()
	}
	return w.flush()
}

func doRefuse(t *testing.T, w *world, d *datadriven.TestData) string {
	var verb, with string
	d.ScanArgs(t, "verb", &verb)
	d.MaybeScanArgs(t, "with", &with)
	switch {
	case d.HasArg("terminating"):
		err := apierrors.NewForbidden(corev1.Resource("pods"), "", errors.New("namespace is terminating"))
		err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
		w.refuse[verb] = err
	case with == "":
		delete(w.refuse, verb)
	default:
		w.refuse[verb] = controllertest.Refusal(with)
	}
	return w.flush()
}

func doLose(_ *testing.T, w *world, d *datadriven.TestData) string {
	w.wire.Lose(d)
	return w.flush()
}

func doAdvance(t *testing.T, w *world, d *datadriven.TestData) string {
	var by string
	d.ScanArgs(t, "by", &by)
	step, err := time.ParseDuration(by)
	if err != nil {
		d.Fatalf(t, "%v", err)
	}
	w.now.Step(step)
	return w.flush()
}

func doReconcile(t *testing.T, w *world, d *datadriven.TestData) string {
	var name string
	d.ScanArgs(t, "name", &name)
	err := w.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: name})
	out := w.flush()
	if err != nil {
		out += fmt.Sprintf("error: %v\n", err)
	}
	if !d.HasArg("lag") {
		w.sync()
		clear(w.queued) // by its own writes
	}
	return out
}

func doPods(_ *testing.T, w *world, _ *datadriven.TestData) string {
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(w.server.pods)) {
		pod := w.server.pods[name]
		line := fmt.Sprintf("%s %s owners=%v labels=%v", name, pod.Status.Phase, controllertest.Owners(pod), pod.Labels)
		if pod.DeletionTimestamp != nil {
			line += " deleting"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n") + "\n"
}
