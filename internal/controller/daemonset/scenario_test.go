package daemonset

import (
	"context"
	"fmt"
	"maps"
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
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

// TestScenarios runs the files in testdata. The set is always "agent". Verbs:
//
//	node name=(n1 …) [zone=] [taint=key:Effect] [heartbeat] [gone]   changes, adds or removes nodes
//	set image= [zone=] [host-network] [tolerate=key] [unavailable=] [surge=] [on-delete] [min-ready=] [history=]
//	    [deleting] [lag]
//	pod name= [node=] [image=] [app=] [owner=none|other] [phase=] [ready] [unready] [deleting] [age=]   changes or adds a pod
//	gone pod=|revision=
//	take image=                      another owner has the name of the revision of an image
//	refuse verb=create|delete [with=]
//	lose [verb=(create,delete)]          such requests are made, and their responses are lost
//	run [not=(pod …)]                what scheduler and kubelets do: pods are bound, start and are ready, but for some; those
//	                                 being deleted go
//	step [lag]                       one reconcile, with what it writes
//	roll [not=(pod …)]               steps and runs until nothing happens; prints no status but the last
//	advance by=
//	pods, revisions                  print the server's objects
//
// With "lag" the cache does not see the change yet.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			handler, ok := handlers[d.Cmd]
			if !ok {
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			handler(t, w, d)
			if !d.HasArg("lag") {
				w.sync()
			}
			if d.Cmd == "step" || d.Cmd == "roll" {
				clear(w.Queued) // by its own writes
			}
			return w.flush()
		})
	})
}

var handlers = map[string]func(*testing.T, *world, *datadriven.TestData){
	"node": doNode, "set": doSet, "pod": doPod, "gone": doGone, "take": doTake, "refuse": doRefuse, "lose": doLose,
	"run": doRun, "step": doStep,
	"roll": doRoll, "advance": doAdvance, "pods": doPods, "revisions": doRevisions,
}

func doNode(t *testing.T, w *world, d *datadriven.TestData) {
	var zone, taint string
	d.MaybeScanArgs(t, "zone", &zone)
	d.MaybeScanArgs(t, "taint", &taint)
	for _, name := range words(d, "name") {
		if d.HasArg("gone") {
			delete(w.server.nodes, name)
			continue
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if live, ok := w.server.nodes[name]; ok && d.HasArg("heartbeat") {
			node = live.DeepCopy()
		}
		if zone != "" {
			node.Labels = map[string]string{"zone": zone}
		}
		if key, effect, ok := strings.Cut(taint, ":"); ok {
			node.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffect(effect)}}
		}
		w.Stamp(&node.ObjectMeta)
		w.server.nodes[name] = node
	}
}

func words(d *datadriven.TestData, arg string) []string {
	var all []string
	if a, ok := d.Arg(arg); ok {
		for _, value := range a.Vals {
			all = append(all, strings.Fields(value)...)
		}
	}
	return all
}

func template(image string) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func doSet(t *testing.T, w *world, d *datadriven.TestData) {
	var minReady, history int
	var image, zone, tolerate string
	d.ScanArgs(t, "image", &image)
	for arg, into := range map[string]any{"min-ready": &minReady, "history": &history, "zone": &zone,
		"tolerate": &tolerate} {
		d.MaybeScanArgs(t, arg, into)
	}
	set := &apps.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent"}}
	if live, ok := w.server.sets["agent"]; ok {
		set = live.DeepCopy()
	}
	h := int32(history)
	set.Generation++
	set.Spec = apps.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Template: template(image), MinReadySeconds: int32(minReady), UpdateStrategy: strategy(t, d),
	}
	spec := &set.Spec.Template.Spec
	spec.HostNetwork = d.HasArg("host-network")
	if zone != "" {
		spec.NodeSelector = map[string]string{"zone": zone}
	}
	if tolerate != "" {
		spec.Tolerations = []corev1.Toleration{{Key: tolerate, Operator: corev1.TolerationOpExists}}
	}
	if d.HasArg("history") {
		set.Spec.RevisionHistoryLimit = &h
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.Now.Now())
		set.DeletionTimestamp = &now
	}
	w.Stamp(&set.ObjectMeta)
	w.server.sets["agent"] = set
}

func strategy(t *testing.T, d *datadriven.TestData) appsv1.DaemonSetUpdateStrategy {
	if d.HasArg("on-delete") {
		return appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
	unavailable, surge := "", ""
	d.MaybeScanArgs(t, "unavailable", &unavailable)
	d.MaybeScanArgs(t, "surge", &surge)
	return appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: amount(unavailable), MaxSurge: amount(surge)},
	}
}

func amount(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	v := intstr.Parse(text)
	return &v
}

func doPod(t *testing.T, w *world, d *datadriven.TestData) {
	var name, node, app, owner, phase, age string
	d.ScanArgs(t, "name", &name)
	for arg, into := range map[string]any{"node": &node, "app": &app, "owner": &owner, "phase": &phase, "age": &age} {
		d.MaybeScanArgs(t, arg, into)
	}
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "agent"}}}
	pod.Status.Phase = corev1.PodPending
	if live, ok := w.server.pods[name]; ok {
		pod = live.DeepCopy()
	}
	if node != "" {
		pod.Spec.NodeName = node
	}
	if app != "" {
		pod.Labels["app"] = app
	}
	if phase != "" {
		pod.Status.Phase = corev1.PodPhase(phase)
	}
	if age != "" {
		pod.CreationTimestamp = metav1.NewTime(w.Now.Now().Add(-controllertest.Duration(t, age)))
	}
	switch owner {
	case "none":
		pod.OwnerReferences = nil
	case "other":
		pod.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "other", UID: "other"}, kind),
		}
	}
	if d.HasArg("ready") {
		controllertest.MakeReady(pod, w.Now.Now())
	}
	if d.HasArg("unready") {
		pod.Status.Conditions = nil
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.Now.Now())
		pod.DeletionTimestamp = &now
	}
	w.Stamp(&pod.ObjectMeta)
	w.server.pods[name] = pod
}

func doGone(t *testing.T, w *world, d *datadriven.TestData) {
	var pod string
	d.ScanArgs(t, "pod", &pod)
	delete(w.server.pods, pod)
}

func doTake(t *testing.T, w *world, d *datadriven.TestData) {
	var image string
	d.ScanArgs(t, "image", &image)
	// The name that the revision of the image will get is found by making it.
	other := newWorld()
	set := w.server.sets["agent"].DeepCopy()
	set.Spec.Template = template(image)
	if _, err := other.gather(context.Background(), set, nil, nil); err != nil {
		t.Fatal(err)
	}
	for _, revision := range other.server.revisions {
		revision.OwnerReferences[0].UID = "another"
		w.server.revisions[revision.Name] = revision
	}
}

func doRefuse(t *testing.T, w *world, d *datadriven.TestData) { w.DoRefuse(t, d) }

func doLose(_ *testing.T, w *world, d *datadriven.TestData) {
	w.wire.Lose(d)
}

func doAdvance(t *testing.T, w *world, d *datadriven.TestData) { w.DoAdvance(t, d) }

func doRun(_ *testing.T, w *world, d *datadriven.TestData) { w.runPods(words(d, "not")) }

func (w *world) runPods(not []string) (moved bool) {
	for _, name := range slices.Sorted(maps.Keys(w.server.pods)) {
		pod := w.server.pods[name]
		node, _ := nodeOf(pod)
		switch {
		case pod.DeletionTimestamp != nil:
			delete(w.server.pods, name)
			moved = true
		case slices.Contains(not, name) && pod.Spec.NodeName != "":
		case pod.Status.Phase == corev1.PodPending && w.server.nodes[node] != nil:
			pod = pod.DeepCopy()
			pod.Spec.NodeName = node
			if !slices.Contains(not, name) {
				controllertest.MakeReady(pod, w.Now.Now())
			}
			w.Stamp(&pod.ObjectMeta)
			w.server.pods[name] = pod
			moved = true
		}
	}
	return moved
}

func (w *world) step() {
	if err := w.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: "agent"}); err != nil {
		w.Say("error: %v", err)
	}
}

func doStep(_ *testing.T, w *world, _ *datadriven.TestData) { w.step() }

func doRoll(_ *testing.T, w *world, d *datadriven.TestData) {
	var all []string
	for range 100 {
		w.step()
		quiet := len(w.Lines) == 0
		for line := range strings.SplitSeq(strings.TrimSuffix(w.flush(), "\n"), "\n") {
			if line != "ok" && !strings.HasPrefix(line, "queue") && !strings.HasPrefix(line, "status") &&
				!strings.HasPrefix(line, "again") {
				all = append(all, line)
			}
		}
		w.sync()
		if moved := w.runPods(words(d, "not")); quiet && !moved {
			w.Lines = []string{strings.Join(append(all, describe(w.server.sets["agent"])), "\n")} // in the order of the steps
			return
		}
		w.sync()
		w.Now.Step(time.Second)
	}
	w.Lines = append(all, "no end")
}

func doPods(_ *testing.T, w *world, _ *datadriven.TestData) {
	for _, pod := range w.server.pods.List() {
		line := fmt.Sprintf("%s node=%s labels=%v owners=%v", pod.Name, pod.Spec.NodeName, pod.Labels,
			controllertest.Owners(pod))
		if affinity := pod.Spec.Affinity; affinity != nil {
			line += fmt.Sprintf("\n  fields %v",
				affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields)
		}
		for _, toleration := range pod.Spec.Tolerations {
			line += fmt.Sprintf("\n  tolerates %s:%s", toleration.Key, toleration.Effect)
		}
		w.Say("%s", line)
	}
}

func doRevisions(_ *testing.T, w *world, _ *datadriven.TestData) {
	revisions := w.server.revisions.List()
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	for _, r := range revisions {
		w.Say("%d %s owners=%v", r.Revision, r.Name, controllertest.Owners(r))
	}
}
