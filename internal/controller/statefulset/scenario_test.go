package statefulset

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

// TestScenarios runs the files in testdata. The set is always "web". Verbs:
//
//	set replicas= image= [start=] [parallel] [on-delete] [no-rolling] [partition=] [max-unavailable=] [min-ready=] [history=]
//	    [claims=a+b] [when-scaled=] [when-deleted=] [group=] [deleting] [lag]
//	pod name= [image=] [owner=none|web] [app=] [phase=] [ready[=age]] [unready] [deleting] [lag]   changes or adds a pod
//	gone pod=|claim=|revision=       takes an object away
//	claim name= [owner=web|other|POD] [plain] [deleting]   changes or adds a volume claim
//	take image=                      another owner has the name of the revision of an image
//	refuse verb=create|delete|create-claim [with=]
//	lose [verb=(create,delete)]          such requests are made, and their responses are lost
//	run [not=(pod …)]                what kubelets do: pods start and are ready, but for some; those being deleted go
//	step [lag]                       one reconcile, with what it writes
//	roll [not=(pod …)]               steps and runs until nothing happens; prints no status but the last
//	advance by=
//	pods, claims, revisions          print the server's objects
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
	"set": doSet, "pod": doPod, "gone": doGone, "claim": doClaim, "take": doTake, "refuse": doRefuse, "lose": doLose,
	"run":  doRun,
	"step": doStep, "roll": doRoll, "advance": doAdvance, "pods": doPods, "claims": doClaims, "revisions": doRevisions,
}

func template(image string) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func doSet(t *testing.T, w *world, d *datadriven.TestData) {
	var replicas, start, minReady, history int
	var image, claims, group string
	d.ScanArgs(t, "replicas", &replicas)
	d.ScanArgs(t, "image", &image)
	for arg, into := range map[string]any{"start": &start, "min-ready": &minReady, "history": &history, "claims": &claims,
		"group": &group} {
		d.MaybeScanArgs(t, arg, into)
	}
	set := &apps.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	if live, ok := w.server.sets["web"]; ok {
		set = live.DeepCopy()
	}
	n, h := int32(replicas), int32(history)
	set.Generation++
	set.Spec = apps.StatefulSetSpec{
		Replicas: &n, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}, ServiceName: "web-svc",
		Template: template(image), MinReadySeconds: int32(minReady), UpdateStrategy: strategy(t, d),
		VolumeClaimTemplates: claimTemplates(claims), PersistentVolumeClaimRetentionPolicy: retention(t, d),
	}
	if group != "" {
		set.Spec.Template.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	if d.HasArg("start") {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(start)}
	}
	if d.HasArg("history") {
		set.Spec.RevisionHistoryLimit = &h
	}
	if d.HasArg("parallel") {
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.Now.Now())
		set.DeletionTimestamp = &now
	}
	w.Stamp(&set.ObjectMeta)
	w.server.sets["web"] = set
}

func strategy(t *testing.T, d *datadriven.TestData) appsv1.StatefulSetUpdateStrategy {
	if d.HasArg("on-delete") {
		return appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	strategy := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	if d.HasArg("no-rolling") {
		return strategy
	}
	var partition int
	var unavailable string
	d.MaybeScanArgs(t, "partition", &partition)
	d.MaybeScanArgs(t, "max-unavailable", &unavailable)
	n := int32(partition)
	strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: &n}
	if unavailable != "" {
		v := intstr.Parse(unavailable)
		strategy.RollingUpdate.MaxUnavailable = &v
	}
	return strategy
}

func claimTemplates(names string) []corev1.PersistentVolumeClaim {
	var templates []corev1.PersistentVolumeClaim
	for _, name := range strings.FieldsFunc(names, func(r rune) bool { return r == '+' }) {
		templates = append(templates,
			corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": name}}})
	}
	return templates
}

func retention(t *testing.T, d *datadriven.TestData) *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	scaled, deleted := "Retain", "Retain"
	d.MaybeScanArgs(t, "when-scaled", &scaled)
	d.MaybeScanArgs(t, "when-deleted", &deleted)
	return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled:  appsv1.PersistentVolumeClaimRetentionPolicyType(scaled),
		WhenDeleted: appsv1.PersistentVolumeClaimRetentionPolicyType(deleted),
	}
}

func doPod(t *testing.T, w *world, d *datadriven.TestData) {
	var name, image, owner, app, phase, ready string
	d.ScanArgs(t, "name", &name)
	for arg, into := range map[string]any{"image": &image, "owner": &owner, "app": &app, "phase": &phase} {
		d.MaybeScanArgs(t, arg, into)
	}
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}}
	pod.Status.Phase = corev1.PodPending
	if live, ok := w.server.pods[name]; ok {
		pod = live.DeepCopy()
	}
	if app != "" {
		pod.Labels["app"] = app
	}
	if phase != "" {
		pod.Status.Phase = corev1.PodPhase(phase)
	}
	switch owner {
	case "none":
		pod.OwnerReferences = nil
	case "web":
		pod.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(w.server.sets["web"], kind)}
	}
	if d.HasArg("ready") {
		age := time.Duration(0)
		if arg, _ := d.Arg("ready"); len(arg.Vals) > 0 {
			d.ScanArgs(t, "ready", &ready)
			age = controllertest.Duration(t, ready)
		}
		controllertest.MakeReady(pod, w.Now.Now().Add(-age))
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
	var pod, claim, image string
	d.MaybeScanArgs(t, "pod", &pod)
	d.MaybeScanArgs(t, "claim", &claim)
	d.MaybeScanArgs(t, "revision", &image)
	delete(w.server.pods, pod)
	delete(w.server.claims, claim)
	w.readable("")
	for name, of := range w.images {
		if of == image {
			delete(w.server.revisions, name)
		}
	}
}

func doClaim(t *testing.T, w *world, d *datadriven.TestData) {
	var name, owner string
	d.ScanArgs(t, "name", &name)
	d.MaybeScanArgs(t, "owner", &owner)
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if live, ok := w.server.claims[name]; ok {
		claim = live.DeepCopy()
	}
	var ref *metav1.OwnerReference
	switch pod, ok := w.server.pods[owner]; {
	case owner == "":
	case owner == "web":
		ref = metav1.NewControllerRef(w.server.sets["web"], kind)
	case ok:
		ref = metav1.NewControllerRef(pod, podKind)
	case strings.HasPrefix(owner, "web-"):
		ref = metav1.NewControllerRef(&metav1.ObjectMeta{Name: owner, UID: "gone"}, podKind)
	default:
		ref = metav1.NewControllerRef(&metav1.ObjectMeta{Name: owner, UID: "foreign"},
			appsv1.SchemeGroupVersion.WithKind("Operator"))
	}
	if ref != nil {
		if d.HasArg("plain") {
			ref.Controller = nil
		}
		claim.OwnerReferences = append(claim.OwnerReferences, *ref)
	}
	if d.HasArg("deleting") {
		now := metav1.NewTime(w.Now.Now())
		claim.DeletionTimestamp = &now
	}
	w.Stamp(&claim.ObjectMeta)
	w.server.claims[name] = claim
}

func doTake(t *testing.T, w *world, d *datadriven.TestData) {
	var image string
	d.ScanArgs(t, "image", &image)
	// The name that the revision of the image will get is found by making it.
	other := newWorld()
	set := w.server.sets["web"].DeepCopy()
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

func doRun(t *testing.T, w *world, d *datadriven.TestData) { w.runPods(without(t, d)) }

func without(t *testing.T, d *datadriven.TestData) []string {
	var not string
	d.MaybeScanArgs(t, "not", &not)
	return strings.Fields(not)
}

func (w *world) runPods(not []string) (moved bool) {
	for _, name := range slices.Sorted(maps.Keys(w.server.pods)) {
		pod := w.server.pods[name]
		switch {
		case pod.DeletionTimestamp != nil:
			delete(w.server.pods, name)
			moved = true
		case slices.Contains(not, name):
		case pod.Status.Phase == corev1.PodPending:
			pod = pod.DeepCopy()
			controllertest.MakeReady(pod, w.Now.Now())
			w.Stamp(&pod.ObjectMeta)
			w.server.pods[name] = pod
			moved = true
		}
	}
	return moved
}

func (w *world) step() {
	if err := w.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: "web"}); err != nil {
		w.Say("error: %v", err)
	}
}

func doStep(_ *testing.T, w *world, _ *datadriven.TestData) { w.step() }

func doRoll(t *testing.T, w *world, d *datadriven.TestData) {
	not := without(t, d)
	var all []string
	for range 100 {
		w.step()
		quiet := len(w.Lines) == 0
		text := strings.TrimSuffix(w.flush(), "\n")
		for line := range strings.SplitSeq(text, "\n") {
			if line != "ok" && !strings.HasPrefix(line, "queue") && !strings.HasPrefix(line, "status") &&
				!strings.HasPrefix(line, "again") {
				all = append(all, line)
			}
		}
		w.sync()
		if moved := w.runPods(not); quiet && !moved {
			w.Lines = []string{strings.Join(append(all, describe(w.server.sets["web"])), "\n")} // in the order of the steps
			return
		}
		w.sync()
		w.Now.Step(time.Second)
	}
	w.Lines = append(all, "no end")
}

func doPods(_ *testing.T, w *world, _ *datadriven.TestData) {
	for _, pod := range w.server.pods.InNamespace("") {
		line := fmt.Sprintf("%s %s labels=%v owners=%v host=%s.%s", pod.Name, pod.Status.Phase, pod.Labels,
			controllertest.Owners(pod), pod.Spec.Hostname, pod.Spec.Subdomain)
		for _, volume := range pod.Spec.Volumes {
			line += fmt.Sprintf(" volume=%s:%s", volume.Name, volume.PersistentVolumeClaim.ClaimName)
		}
		if group := pod.Spec.SchedulingGroup; group != nil {
			line += " group=" + *group.PodGroupName
		}
		w.Say("%s", line)
	}
}

func doClaims(_ *testing.T, w *world, _ *datadriven.TestData) {
	for _, claim := range w.server.claims.InNamespace("") {
		w.Say("%s %s", claim.Name, describeClaim(claim))
	}
}

func doRevisions(_ *testing.T, w *world, _ *datadriven.TestData) {
	revisions := w.server.revisions.InNamespace("")
	slices.SortFunc(revisions, func(a, b *appsv1.ControllerRevision) int { return int(a.Revision - b.Revision) })
	for _, r := range revisions {
		w.Say("%d %s owners=%v", r.Revision, r.Name, controllertest.Owners(r))
	}
}
