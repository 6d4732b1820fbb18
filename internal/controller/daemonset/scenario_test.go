package daemonset

import (
	"fmt"
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
// is always "agent".
//
//	node NAME… [zone=] [taint=key:Effect] [heartbeat]   changes or adds nodes
//	set image= [zone=] [host-network] [tolerate=key] [unavailable=] [surge=] [on-delete] [min-ready=] [history=]
//	    [deleting]
//	take image=   another owner has the name of the revision of an image
func TestScenarios(t *testing.T) {
	controllertest.Walk(t, "testdata", func() *controllertest.Scenario { return newWorld().Scenario })
}

// world is the objects of a scenario, and its controller.
type world struct {
	*controllertest.Scenario
	c         *Controller
	sets      *controllertest.Kind[*apps.DaemonSet]
	nodes     *controllertest.Kind[*corev1.Node]
	revisions *controllertest.Revisions
	pods      *controllertest.Pods
	made      map[string]int // pods, by node
}

func newWorld() *world {
	s := controllertest.New("agent", gatherWindow)
	w := &world{
		Scenario:  s,
		sets:      controllertest.NewKind[*apps.DaemonSet](s, "set", appsv1.Resource("daemonsets")),
		nodes:     controllertest.NewKind[*corev1.Node](s, "node", corev1.Resource("nodes")),
		revisions: controllertest.NewRevisions(s, hashLabel),
		pods:      controllertest.NewPods(s),
		made:      map[string]int{},
	}
	w.c = &Controller{
		sets: w.sets.Cache, nodes: w.nodes.Cache, revisions: w.revisions.Cache,
		pods:      workload.NewPods(w.pods.Cache, w.pods, w, w.Now),
		setServer: w.sets, revisionServer: w.revisions, events: w, clock: w.Now, queue: w, backoff: newBackoff(),
	}
	s.Reconcile = w.c.Reconcile
	s.Objects["node"], s.Objects["set"], s.Commands["take"] = w.putNodes, w.putSet, w.take
	w.sets.OnChange, w.nodes.OnChange, w.pods.OnChange = w.c.onSet, w.c.onNode, w.c.onPod
	w.sets.Texts = map[string]func(_, _ *apps.DaemonSet) string{"status": statusText}
	w.pods.Texts = map[string]func(_, _ *core.Pod) string{
		"create": func(_, pod *core.Pod) string { return " at " + pod.Labels[hashLabel] },
		"list":   podText,
	}
	w.pods.Name = w.podName
	w.pods.Graceful = func(*core.Pod) bool { return true }
	w.pods.New.Labels, w.pods.New.Status.Phase = map[string]string{"app": "agent"}, corev1.PodPending
	w.pods.Owner = func(name string) metav1.OwnerReference {
		return *metav1.NewControllerRef(&metav1.ObjectMeta{Name: name, UID: "other"}, kind)
	}
	w.pods.Node = func(pod *core.Pod) (string, bool) {
		name, _ := nodeOf(pod)
		return name, w.nodes.Server[name] != nil
	}
	w.Status = func() string { return "status agent" + statusText(nil, w.sets.Server["agent"]) }
	return w
}

// podName names pods after their node, so that scenarios are readable: agent-n1-1.
func (w *world) podName(pod *core.Pod) string {
	node, _ := nodeOf(pod)
	w.made[node]++
	return fmt.Sprintf("%s%s-%d", pod.GenerateName, node, w.made[node])
}

func statusText(_, set *apps.DaemonSet) string {
	s := set.Status
	text := fmt.Sprintf(
		": desired=%d current=%d misscheduled=%d ready=%d updated=%d available=%d unavailable=%d generation=%d",
		s.DesiredNumberScheduled, s.CurrentNumberScheduled, s.NumberMisscheduled, s.NumberReady,
		s.UpdatedNumberScheduled, s.NumberAvailable, s.NumberUnavailable, s.ObservedGeneration)
	if s.CollisionCount != nil {
		text += fmt.Sprintf(" collisions=%d", *s.CollisionCount)
	}
	return text
}

func podText(_, pod *core.Pod) string {
	text := fmt.Sprintf(" node=%s labels=%v owners=%v", pod.Spec.NodeName, pod.Labels, controllertest.Owners(pod))
	if affinity := pod.Spec.Affinity; affinity != nil {
		text += fmt.Sprintf("\n  fields %v",
			affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms[0].MatchFields)
	}
	for _, toleration := range pod.Spec.Tolerations {
		text += fmt.Sprintf("\n  tolerates %s:%s", toleration.Key, toleration.Effect)
	}
	return text
}

func (w *world) putNodes(l *line.Line) {
	zone, heartbeat := l.Text("zone", ""), l.Has("heartbeat")
	key, effect, tainted := strings.Cut(l.Text("taint", ""), ":")
	for _, name := range l.Names() {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if heartbeat {
			node = w.nodes.Edit(name, func() *corev1.Node { return node })
		}
		if zone != "" {
			node.Labels = map[string]string{"zone": zone}
		}
		if tainted {
			node.Spec.Taints = []corev1.Taint{{Key: key, Effect: corev1.TaintEffect(effect)}}
		}
		w.nodes.Put(node)
	}
}

func template(image string) core.PodTemplateSpec {
	return core.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "agent"}},
		Spec:       core.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func (w *world) putSet(l *line.Line) {
	set := w.sets.Edit("agent", func() *apps.DaemonSet { return &apps.DaemonSet{} })
	set.Generation++
	set.Spec = apps.DaemonSetSpec{
		Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "agent"}},
		Template: template(l.Text("image", "")), MinReadySeconds: l.Int32("min-ready", 0), UpdateStrategy: strategy(l),
	}
	spec := &set.Spec.Template.Spec
	spec.HostNetwork = l.Has("host-network")
	if zone := l.Text("zone", ""); zone != "" {
		spec.NodeSelector = map[string]string{"zone": zone}
	}
	if key := l.Text("tolerate", ""); key != "" {
		spec.Tolerations = []corev1.Toleration{{Key: key, Operator: corev1.TolerationOpExists}}
	}
	if l.Has("history") {
		set.Spec.RevisionHistoryLimit = ptr.To(l.Int32("history", 0))
	}
	if l.Has("deleting") {
		set = controllertest.Deleted(set, w.Now.Now())
	}
	w.sets.Put(set)
}

func strategy(l *line.Line) appsv1.DaemonSetUpdateStrategy {
	if l.Has("on-delete") {
		return appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
	}
	return appsv1.DaemonSetUpdateStrategy{
		Type: appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{
			MaxUnavailable: amount(l.Text("unavailable", "")), MaxSurge: amount(l.Text("surge", "")),
		},
	}
}

func amount(text string) *intstr.IntOrString {
	if text == "" {
		return nil
	}
	return ptr.To(intstr.Parse(text))
}

func (w *world) take(l *line.Line) {
	image := template(l.Text("image", ""))
	if err := w.revisions.Take(history.Parent{
		Owner: w.sets.Server["agent"], Kind: kind, Template: &image, HashLabel: hashLabel,
	}); err != nil {
		l.Failf("%w", err)
	}
}
