package deployment

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
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
	"github.com/allot-dev/allot/internal/testkit/line"
)

// TestScenarios runs the files in testdata, which are about one Deployment "web", with the verbs of
// controllertest and those below. Sets are named by the image of their template, as web:v1.
//
//	deploy replicas=3 image=v1 [surge=25%] [unavailable=25%] [recreate] [paused] [deadline=600]
//	    [history=10] [min-ready=5] [note=text] [deleting]   creates or replaces it
//	set image=v1 have=3 ready=3 available=3 [terminating=1] [failure=text]   a set's status
//	set image=v1 app=x               its labels
//	set image=v1 phase=Running|none  it has such a pod, or no pod
//	orphan image=v0 size=2 [app=web] a set without owner
//	take image=v2                    puts a set of another owner at the name for the template
//	roll                             all pods become available
func TestScenarios(t *testing.T) {
	controllertest.Walk(t, "testdata", func() *controllertest.Scenario { return newWorld().Scenario })
}

// world is the objects of a scenario.
type world struct {
	*controllertest.Scenario
	deployments *controllertest.Kind[*apps.Deployment]
	sets        *controllertest.Kind[*apps.ReplicaSet]
	pods        *controllertest.Kind[*core.Pod]
}

func newWorld() *world {
	s := controllertest.New("web", gatherWindow)
	w := &world{
		Scenario:    s,
		deployments: controllertest.NewKind[*apps.Deployment](s, "deployment", appsv1.Resource("deployments")),
		sets:        controllertest.NewKind[*apps.ReplicaSet](s, "set", appsv1.Resource("replicasets")),
		pods:        controllertest.NewKind[*core.Pod](s, "pod", corev1.Resource("pods")),
	}
	c := &Controller{
		deployments: w.deployments.Cache, sets: w.sets.Cache, pods: w.pods.Cache,
		server: w.deployments, setServer: w.sets, events: w, clock: w.Now, queue: w,
	}
	s.Reconcile = c.Reconcile
	s.Objects["deploy"], s.Objects["set"], s.Objects["orphan"], s.Objects["take"] = w.deploy, w.putSet, w.orphan, w.take
	w.deployments.OnChange, w.sets.OnChange = c.onDeployment, c.onSet
	w.deployments.Texts = map[string]func(_, _ *apps.Deployment) string{"status": statusText}
	w.sets.Label = label
	w.sets.Complete = func(rs *apps.ReplicaSet) { rs.Generation = 1 }
	w.sets.Texts = map[string]func(_, _ *apps.ReplicaSet) string{
		"create": func(_, rs *apps.ReplicaSet) string {
			return fmt.Sprintf(" with %d, revision %s", sizeOf(rs), rs.Annotations[revisionAnnotation])
		},
		"update": changeText,
	}
	hashes := regexp.MustCompile(`web-[a-z0-9]{6,10}`)
	w.Readable = func(text string) string { return hashes.ReplaceAllString(text, "web-HASH") }
	w.Run = w.runSets
	w.Quiet = func(lines []string) bool {
		return !slices.ContainsFunc(lines, func(text string) bool { return !strings.HasPrefix(text, "again in") })
	}
	w.Status = func() string { return "status web" + statusText(&apps.Deployment{}, w.deployments.Server["web"]) }
	return w
}

// label returns the name of a set in the output, such as web:v1.
func label(rs *apps.ReplicaSet) string {
	name, _, _ := strings.Cut(rs.Name, "-")
	return name + ":" + imageOf(rs)
}

func imageOf(rs *apps.ReplicaSet) string { return rs.Spec.Template.Spec.Containers[0].Image }

// changeText prints what an update of a set changes.
func changeText(before, after *apps.ReplicaSet) string {
	var changes []string
	if from, to := sizeOf(before), sizeOf(after); from != to {
		changes = append(changes, fmt.Sprintf("%d -> %d", from, to))
	}
	if before.Spec.MinReadySeconds != after.Spec.MinReadySeconds {
		changes = append(changes, fmt.Sprintf("minReadySeconds=%d", after.Spec.MinReadySeconds))
	}
	for _, key := range slices.Sorted(maps.Keys(after.Annotations)) {
		if before.Annotations[key] != after.Annotations[key] {
			changes = append(changes, strings.TrimPrefix(key, "deployment.kubernetes.io/")+"="+after.Annotations[key])
		}
	}
	return ": " + strings.Join(changes, ", ")
}

// statusText prints a status, and the conditions that have changed.
func statusText(before, after *apps.Deployment) string {
	s := after.Status
	text := fmt.Sprintf(": replicas=%d updated=%d ready=%d available=%d unavailable=%d generation=%d",
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas, s.ObservedGeneration)
	switch n := s.TerminatingReplicas; {
	case n == nil:
		text += " terminating=unknown"
	case *n > 0:
		text += " terminating=" + strconv.Itoa(int(*n))
	}
	if s.CollisionCount != nil {
		text += fmt.Sprintf(" collisions=%d", *s.CollisionCount)
	}
	if x, y := before.Annotations[revisionAnnotation], after.Annotations[revisionAnnotation]; x != y {
		text += " revision=" + y
	}
	for _, c := range s.Conditions {
		if old := condition(&before.Status, c.Type); old == nil || *old != c {
			text += fmt.Sprintf("\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, c := range before.Status.Conditions {
		if condition(&s, c.Type) == nil {
			text += fmt.Sprintf("\n  no %s", c.Type)
		}
	}
	return text
}

func template(image string) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func (w *world) deploy(l *line.Line) {
	d := w.deployments.Edit("web", func() *apps.Deployment { return &apps.Deployment{} })
	d.Generation++
	d.Spec = apps.DeploymentSpec{
		Replicas: ptr.To(l.Int32("replicas", 0)),
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		Template: template(l.Text("image", "")), MinReadySeconds: l.Int32("min-ready", 0), Paused: l.Has("paused"),
		Strategy: appsv1.DeploymentStrategy{
			Type: appsv1.RollingUpdateDeploymentStrategyType,
			RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge:       ptr.To(intstr.Parse(l.Text("surge", "25%"))),
				MaxUnavailable: ptr.To(intstr.Parse(l.Text("unavailable", "25%"))),
			},
		},
	}
	if l.Has("recreate") {
		d.Spec.Strategy = appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}
	}
	if l.Has("history") {
		d.Spec.RevisionHistoryLimit = ptr.To(l.Int32("history", 0))
	}
	if l.Has("deadline") {
		d.Spec.ProgressDeadlineSeconds = ptr.To(l.Int32("deadline", 0))
	}
	if note := l.Text("note", ""); note != "" {
		d.Annotations = cloneMap(d.Annotations)
		d.Annotations["note"], d.Annotations[corev1.LastAppliedConfigAnnotation] = note, "{}"
	}
	if l.Has("deleting") {
		d = controllertest.Deleted(d, w.Now.Now())
	}
	w.deployments.Put(d)
}

func (w *world) putSet(l *line.Line) {
	image := l.Text("image", "")
	i := slices.IndexFunc(w.sets.Server.List(), func(rs *apps.ReplicaSet) bool { return imageOf(rs) == image })
	if i < 0 {
		l.Failf("no set with image %s", image)
		return
	}
	rs := w.sets.Server.List()[i].DeepCopy()
	switch phase := l.Text("phase", ""); phase {
	case "":
	case "none":
		delete(w.pods.Server, rs.Name)
		return
	default:
		pod := &core.Pod{Status: corev1.PodStatus{Phase: corev1.PodPhase(phase)}}
		pod.Name = rs.Name
		pod.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(rs, appsv1.SchemeGroupVersion.WithKind("ReplicaSet")),
		}
		w.pods.Put(pod)
		return
	}
	if app := l.Text("app", ""); app != "" {
		rs.Labels = map[string]string{"app": app}
	}
	if l.Has("have") {
		setStatus(rs, l.Int32("have", 0), l.Int32("ready", 0), l.Int32("available", 0), l.Int32("terminating", 0))
	}
	if failure := l.Text("failure", ""); failure != "" {
		rs.Status.Conditions = []appsv1.ReplicaSetCondition{{
			Type: appsv1.ReplicaSetReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: failure,
		}}
	}
	w.sets.Put(rs)
}

func setStatus(rs *apps.ReplicaSet, have, ready, available, terminating int32) {
	rs.Status = appsv1.ReplicaSetStatus{
		Replicas: have, ReadyReplicas: ready, AvailableReplicas: available, TerminatingReplicas: &terminating,
		ObservedGeneration: rs.Generation,
	}
}

// runSets makes all pods of the sets available.
func (w *world) runSets([]string) (moved bool) {
	for _, rs := range w.sets.Server.List() {
		if n := sizeOf(rs); rs.Status.AvailableReplicas != n || rs.Status.ObservedGeneration != rs.Generation {
			rs = rs.DeepCopy()
			setStatus(rs, n, n, n, 0)
			w.sets.Put(rs)
			moved = true
		}
	}
	return moved
}

func (w *world) orphan(l *line.Line) {
	n, image := l.Int32("size", 0), l.Text("image", "")
	rs := &apps.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "orphan-" + image, Labels: map[string]string{"app": l.Text("app", "web")}},
		Spec:       apps.ReplicaSetSpec{Replicas: &n, Template: template(image)},
	}
	setStatus(rs, n, n, n, 0)
	w.sets.Put(rs)
}

func (w *world) take(l *line.Line) {
	wanted := template(l.Text("image", ""))
	hash, err := hashOf(&wanted, nil)
	if err != nil {
		l.Failf("%w", err)
	}
	w.sets.Put(&apps.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: setName("web", hash), OwnerReferences: []metav1.OwnerReference{
			*metav1.NewControllerRef(&metav1.ObjectMeta{Name: "other", UID: "other"}, kind),
		}},
		Spec: apps.ReplicaSetSpec{Template: template("another")},
	})
}
