package statefulset

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/history"
	"github.com/allot-dev/allot/internal/controller/workload"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// TestScenarios runs the files in testdata, with the verbs of controllertest and those below. The set
// is always "web".
//
//	set replicas= image= [start=] [parallel] [on-delete] [no-rolling] [partition=] [max-unavailable=] [min-ready=]
//	    [history=] [claims=a,b] [when-scaled=] [when-deleted=] [group=] [deleting]
//	claim NAME [owner=web|other|POD] [plain] [deleting]   changes or adds a volume claim
//	take image=   another owner has the name of the revision of an image
//	forget image=   the server loses the revision of an image
func TestScenarios(t *testing.T) {
	controllertest.Walk(t, "testdata", func() *controllertest.Scenario { return newWorld().Scenario })
}

// world is the objects of a scenario.
type world struct {
	*controllertest.Scenario
	sets      *controllertest.Kind[*apps.StatefulSet]
	claims    *controllertest.Kind[*corev1.PersistentVolumeClaim]
	revisions *controllertest.Revisions
	pods      *controllertest.Pods
}

func newWorld() *world {
	s := controllertest.New("web", gatherWindow)
	w := &world{
		Scenario: s,
		sets:     controllertest.NewKind[*apps.StatefulSet](s, "set", appsv1.Resource("statefulsets")),
		claims: controllertest.NewKind[*corev1.PersistentVolumeClaim](s, "claim",
			corev1.Resource("persistentvolumeclaims")),
		revisions: controllertest.NewRevisions(s, hashLabel),
		pods:      controllertest.NewPods(s),
	}
	c := &Controller{
		sets: w.sets.Cache, claims: w.claims.Cache, revisions: w.revisions.Cache,
		pods:      workload.NewPods(w.pods.Cache, w.pods, w, w.Now),
		setServer: w.sets, claimServer: w.claims, revisionServer: w.revisions, events: w, clock: w.Now, queue: w,
	}
	s.Reconcile = c.Reconcile
	s.Objects["set"], s.Objects["claim"] = w.putSet, w.putClaim
	s.Commands["take"] = w.take
	s.Commands["forget"] = func(l *line.Line) { w.revisions.Lose(l.Text("image", "")) }
	w.sets.OnChange, w.claims.OnChange, w.pods.OnChange = c.onSet, c.onClaim, c.onPod
	w.sets.Texts = map[string]func(_, _ *apps.StatefulSet) string{"status": statusText}
	w.claims.Texts = map[string]func(_, _ *corev1.PersistentVolumeClaim) string{
		"create": claimText, "update": claimText, "list": claimText,
	}
	w.pods.Texts = map[string]func(_, _ *core.Pod) string{
		"create": func(_, pod *core.Pod) string { return " at " + revisionOf(pod) },
		"patch":  patchText, "list": podText,
	}
	w.pods.Graceful = func(*core.Pod) bool { return true }
	w.pods.New.Labels, w.pods.New.Status.Phase = map[string]string{"app": "web"}, corev1.PodPending
	w.pods.Owner = func(string) metav1.OwnerReference { return *metav1.NewControllerRef(w.sets.Server["web"], kind) }
	w.Status = func() string { return "status web" + statusText(nil, w.sets.Server["web"]) }
	return w
}

func statusText(_, set *apps.StatefulSet) string {
	s := set.Status
	text := fmt.Sprintf(": replicas=%d ready=%d available=%d current=%d(%s) updated=%d(%s) generation=%d",
		s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.CurrentReplicas, s.CurrentRevision, s.UpdatedReplicas,
		s.UpdateRevision, s.ObservedGeneration)
	if s.CollisionCount != nil && *s.CollisionCount > 0 {
		text += fmt.Sprintf(" collisions=%d", *s.CollisionCount)
	}
	return text
}

func claimText(_, claim *corev1.PersistentVolumeClaim) string {
	return fmt.Sprintf(": labels=%v owners=%v", claim.Labels, controllertest.Owners(claim))
}

func patchText(before, after *core.Pod) string {
	if !maps.Equal(before.Labels, after.Labels) {
		return fmt.Sprintf(": labels %v", after.Labels)
	}
	return fmt.Sprintf(": owners %v", controllertest.Owners(after))
}

func podText(_, pod *core.Pod) string {
	text := fmt.Sprintf(" %s labels=%v owners=%v host=%s.%s", pod.Status.Phase, pod.Labels,
		controllertest.Owners(pod), pod.Spec.Hostname, pod.Spec.Subdomain)
	for _, volume := range pod.Spec.Volumes {
		text += fmt.Sprintf(" volume=%s:%s", volume.Name, volume.PersistentVolumeClaim.ClaimName)
	}
	if group := pod.Spec.SchedulingGroup; group != nil {
		text += " group=" + *group.PodGroupName
	}
	return text
}

func template(image string) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func (w *world) putSet(l *line.Line) {
	set := w.sets.Edit("web", func() *apps.StatefulSet { return &apps.StatefulSet{} })
	set.Generation++
	set.Spec = apps.StatefulSetSpec{
		Replicas: ptr.To(l.Int32("replicas", 0)), ServiceName: "web-svc", Template: template(l.Text("image", "")),
		Selector:        &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		MinReadySeconds: l.Int32("min-ready", 0), UpdateStrategy: strategy(l),
		VolumeClaimTemplates: claimTemplates(l.List("claims")), PersistentVolumeClaimRetentionPolicy: retention(l),
	}
	if group := l.Text("group", ""); group != "" {
		set.Spec.Template.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	if l.Has("start") {
		set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: l.Int32("start", 0)}
	}
	if l.Has("history") {
		set.Spec.RevisionHistoryLimit = ptr.To(l.Int32("history", 0))
	}
	if l.Has("parallel") {
		set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	}
	if l.Has("deleting") {
		set = controllertest.Deleted(set, w.Now.Now())
	}
	w.sets.Put(set)
}

func strategy(l *line.Line) appsv1.StatefulSetUpdateStrategy {
	if l.Has("on-delete") {
		return appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
	}
	strategy := appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType}
	if l.Has("no-rolling") {
		return strategy
	}
	strategy.RollingUpdate = &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To(l.Int32("partition", 0))}
	if text := l.Text("max-unavailable", ""); text != "" {
		strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.Parse(text))
	}
	return strategy
}

func claimTemplates(names []string) []corev1.PersistentVolumeClaim {
	var templates []corev1.PersistentVolumeClaim
	for _, name := range names {
		templates = append(templates,
			corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"of": name}}})
	}
	return templates
}

func retention(l *line.Line) *appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy {
	return &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
		WhenScaled:  appsv1.PersistentVolumeClaimRetentionPolicyType(l.Text("when-scaled", "Retain")),
		WhenDeleted: appsv1.PersistentVolumeClaimRetentionPolicyType(l.Text("when-deleted", "Retain")),
	}
}

func (w *world) putClaim(l *line.Line) {
	claim := w.claims.Edit(l.Name(), func() *corev1.PersistentVolumeClaim { return &corev1.PersistentVolumeClaim{} })
	if owner := l.Text("owner", ""); owner != "" {
		ref := w.claimOwner(owner)
		if l.Has("plain") {
			ref.Controller = nil
		}
		claim.OwnerReferences = append(claim.OwnerReferences, *ref)
	}
	if l.Has("deleting") {
		claim = controllertest.Deleted(claim, w.Now.Now())
	}
	w.claims.Put(claim)
}

// claimOwner returns a reference to the set, a pod, a pod that does not exist, or a foreign owner.
func (w *world) claimOwner(name string) *metav1.OwnerReference {
	switch pod, ok := w.pods.Server[name]; {
	case name == "web":
		return metav1.NewControllerRef(w.sets.Server["web"], kind)
	case ok:
		return metav1.NewControllerRef(pod, podKind)
	case strings.HasPrefix(name, "web-"):
		return metav1.NewControllerRef(&metav1.ObjectMeta{Name: name, UID: "gone"}, podKind)
	}
	return metav1.NewControllerRef(&metav1.ObjectMeta{Name: name, UID: "foreign"},
		appsv1.SchemeGroupVersion.WithKind("Operator"))
}

func (w *world) take(l *line.Line) {
	image := template(l.Text("image", ""))
	if err := w.revisions.Take(history.Parent{
		Owner: w.sets.Server["web"], Kind: kind, Template: &image, HashLabel: hashLabel,
	}); err != nil {
		l.Failf("%w", err)
	}
}
