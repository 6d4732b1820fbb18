package replicaset

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/workload"
	"github.com/allot-dev/allot/internal/testkit/line"
)

var kind = appsv1.SchemeGroupVersion.WithKind("ReplicaSet")

// TestScenarios runs the files in testdata, with the verbs of controllertest and:
//
//	set NAME replicas=3 [min-ready=10] [owner=] [uid=] [deleting]
func TestScenarios(t *testing.T) { controllertest.Walk(t, "testdata", newScenario) }

// world is the objects of a scenario.
type world struct {
	*controllertest.Scenario
	sets *controllertest.Kind[*apps.ReplicaSet]
	pods *controllertest.Pods
}

func newScenario() *controllertest.Scenario {
	s := controllertest.New("web", gatherWindow)
	w := &world{
		Scenario: s,
		sets:     controllertest.NewKind[*apps.ReplicaSet](s, "set", appsv1.Resource("replicasets")),
		pods:     controllertest.NewPods(s),
	}
	c := NewController(Source{Kind: kind, Sets: w.sets.Cache, Server: w.sets},
		workload.NewPods(w.pods.Cache, w.pods, w, w.Now), w.Now, w)
	s.Reconcile = c.Reconcile
	s.Objects["set"] = w.putSet
	w.sets.OnChange, w.pods.OnChange = c.OnSet, c.OnPod
	w.sets.Texts = map[string]func(_, _ *apps.ReplicaSet) string{"status": statusText}
	w.pods.Texts = map[string]func(_, _ *core.Pod) string{"list": podText}
	w.pods.Graceful = func(pod *core.Pod) bool { return pod.Spec.NodeName != "" }
	w.pods.New.Labels = map[string]string{"app": "web", "tier": "front"}
	w.pods.Owner = func(name string) metav1.OwnerReference { return *metav1.NewControllerRef(w.sets.Server[name], kind) }
	return s
}

func statusText(_, rs *apps.ReplicaSet) string {
	s := rs.Status
	text := fmt.Sprintf(": replicas=%d labelled=%d ready=%d available=%d terminating=%d generation=%d", s.Replicas,
		s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, *s.TerminatingReplicas, s.ObservedGeneration)
	for _, c := range s.Conditions {
		text += fmt.Sprintf(" %s=%s/%s(%s)", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func podText(_, pod *core.Pod) string {
	text := fmt.Sprintf(" %s owners=%v labels=%v", pod.Status.Phase, controllertest.Owners(pod), pod.Labels)
	if pod.DeletionTimestamp != nil {
		text += " deleting"
	}
	return text
}

func (w *world) putSet(l *line.Line) {
	uid := types.UID(l.Text("uid", ""))
	rs := w.sets.Edit(l.Name(), func() *apps.ReplicaSet { return &apps.ReplicaSet{} })
	if uid != "" {
		rs = &apps.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Name: rs.Name, UID: uid}}
	}
	rs.Generation++
	rs.Spec.Replicas, rs.Spec.MinReadySeconds = ptr.To(l.Int32("replicas", 1)), l.Int32("min-ready", 0)
	rs.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	rs.Spec.Template.Labels = map[string]string{"app": "web", "tier": "front"}
	if owner := l.Text("owner", ""); owner != "" {
		rs.OwnerReferences = []metav1.OwnerReference{
			{Kind: "Deployment", Name: owner, UID: types.UID(owner), Controller: ptr.To(true)},
		}
	}
	if l.Has("deleting") {
		rs = controllertest.Deleted(rs, w.Now.Now())
	}
	w.sets.Put(rs)
}
