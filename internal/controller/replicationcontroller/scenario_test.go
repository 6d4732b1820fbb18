package replicationcontroller

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/replicaset"
	"github.com/allot-dev/allot/internal/controller/workload"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// TestScenarios runs the files in testdata, with the verbs of controllertest and:
//
//	rc NAME replicas=2 [min-ready=10]
func TestScenarios(t *testing.T) { controllertest.Walk(t, "testdata", newScenario) }

// journal prints all events, with their objects.
type journal struct{ *controllertest.Scenario }

func (j journal) Eventf(obj runtime.Object, eventtype, reason, format string, args ...any) {
	about := fmt.Sprintf("%T", obj)
	if rc, ok := obj.(*core.ReplicationController); ok {
		about = rc.Name
	}
	j.Scenario.Eventf(obj, eventtype, "about "+about+": "+reason, format, args...)
}

func newScenario() *controllertest.Scenario {
	s := controllertest.New("web", 20*time.Millisecond)
	s.AllEvents = true
	rcs := controllertest.NewKind[*core.ReplicationController](s, "rc", corev1.Resource("replicationcontrollers"))
	pods := controllertest.NewPods(s)
	c := replicaset.NewController(source(rcs.Cache, rcs),
		workload.NewPods(pods.Cache, pods, recorder{journal{s}}, s.Now), s.Now, s)
	s.Reconcile = c.Reconcile
	rcs.OnChange = func(before, after *core.ReplicationController) { c.OnSet(toSet(before), toSet(after)) }
	rcs.Texts = map[string]func(_, _ *core.ReplicationController) string{"status": statusText}
	pods.OnChange = c.OnPod
	pods.Texts = map[string]func(_, _ *core.Pod) string{"create": func(_, pod *core.Pod) string {
		owner := pod.OwnerReferences[0]
		return fmt.Sprintf(" of %s %s %s", owner.APIVersion, owner.Kind, owner.Name)
	}}
	pods.New.Labels = map[string]string{"app": "web"}
	s.Objects["rc"] = func(l *line.Line) {
		rc := rcs.Edit(l.Name(), func() *core.ReplicationController { return &core.ReplicationController{} })
		rc.Generation++
		labels := map[string]string{"app": rc.Name}
		rc.Spec = core.ReplicationControllerSpec{
			Replicas: ptr.To(l.Int32("replicas", 1)), MinReadySeconds: l.Int32("min-ready", 0), Selector: labels,
			Template: &core.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
		}
		rcs.Put(rc)
	}
	return s
}

func statusText(_, rc *core.ReplicationController) string {
	s := rc.Status
	text := fmt.Sprintf(": replicas=%d labelled=%d ready=%d available=%d generation=%d", s.Replicas,
		s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.ObservedGeneration)
	for _, c := range s.Conditions {
		text += fmt.Sprintf(" %s=%s/%s", c.Type, c.Status, c.Reason)
	}
	return text
}
