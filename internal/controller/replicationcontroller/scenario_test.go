package replicationcontroller

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/replicaset"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// world is a server, a cache that lags behind it until sync, and a controller between the two.
type world struct {
	*controllertest.Journal
	c                   *replicaset.Controller
	controllers, cached controllertest.Store[*core.ReplicationController]
	pods, cachedPods    controllertest.Store[*core.Pod]
	made                int
}

func newWorld() *world {
	w := &world{
		Journal:     controllertest.NewJournal(20 * time.Millisecond),
		controllers: controllertest.Store[*core.ReplicationController]{},
		cached:      controllertest.Store[*core.ReplicationController]{},
		pods:        controllertest.Store[*core.Pod]{},
		cachedPods:  controllertest.Store[*core.Pod]{},
	}
	pods := workload.NewPods(w.cachedPods, w, recorder{w}, w.Now)
	w.c = replicaset.NewController(source(w.cached, w), pods, w.Now, w)
	return w
}

// Eventf records all events, with their objects.
func (w *world) Eventf(obj runtime.Object, _, reason, format string, args ...any) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	rc, ok := obj.(*core.ReplicationController)
	if !ok {
		w.Say("event about %T", obj)
		return
	}
	w.Say("event about %s: %s %s", rc.Name, reason, fmt.Sprintf(format, args...))
}

func (w *world) sync() {
	w.cached.Follow(w.controllers, func(before, after *core.ReplicationController) {
		w.c.OnSet(toSet(before), toSet(after))
	})
	w.cachedPods.Follow(w.pods, w.c.OnPod)
}

func (w *world) Live(_ context.Context, _, name string) (*core.ReplicationController, error) {
	if rc, ok := w.controllers[name]; ok {
		return rc, nil
	}
	return nil, apierrors.NewNotFound(corev1.Resource("replicationcontrollers"), name)
}

func (w *world) UpdateStatus(_ context.Context, rc *core.ReplicationController) error {
	live, ok := w.controllers[rc.Name]
	if !ok || live.ResourceVersion != rc.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("replicationcontrollers"), rc.Name, nil)
	}
	live = live.DeepCopy()
	live.Status = rc.Status
	w.Stamp(&live.ObjectMeta)
	w.controllers[rc.Name] = live
	s := rc.Status
	line := fmt.Sprintf("status %s: replicas=%d labelled=%d ready=%d available=%d generation=%d", rc.Name, s.Replicas,
		s.FullyLabeledReplicas, s.ReadyReplicas, s.AvailableReplicas, s.ObservedGeneration)
	for _, c := range s.Conditions {
		line += fmt.Sprintf(" %s=%s/%s", c.Type, c.Status, c.Reason)
	}
	w.Say("%s", line)
	return nil
}

func (w *world) CreatePod(_ context.Context, pod *core.Pod) (*core.Pod, error) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if err := w.Refuse["create"]; err != nil {
		return nil, err
	}
	w.made++
	pod = pod.DeepCopy()
	pod.Name = pod.GenerateName + strconv.Itoa(w.made)
	w.Stamp(&pod.ObjectMeta)
	w.pods[pod.Name] = pod
	ref := pod.OwnerReferences[0]
	w.Say("create pod %s of %s %s %s", pod.Name, ref.APIVersion, ref.Kind, ref.Name)
	return pod, nil
}

func (w *world) PatchPod(_ context.Context, pod *core.Pod, patch []byte) error {
	patched, err := controllertest.Patched(w.pods[pod.Name], patch)
	if err != nil {
		return err
	}
	w.Stamp(&patched.ObjectMeta)
	w.pods[pod.Name] = patched
	w.Say("patch pod %s: owners %v", pod.Name, controllertest.Owners(patched))
	return nil
}

func (w *world) DeletePod(_ context.Context, pod *core.Pod) error {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Say("delete pod %s", pod.Name)
	delete(w.pods, pod.Name)
	return nil
}

func (w *world) LivePods(_ context.Context, _ string, selector labels.Selector) ([]*core.Pod, error) {
	return w.pods.Matching(selector), nil
}

// The scenarios in testdata have these verbs:
//
//	rc name=web replicas=2 [min-ready=10]   creates or changes a ReplicationController
//	pod name=p [ready]                      creates an orphan, or makes a pod ready
//	refuse verb=create [with=(text)]
//	advance by=10s
//	reconcile name=web                      prints writes and events
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "rc":
				doController(t, w, d)
			case "pod":
				doPod(t, w, d)
			case "refuse":
				w.DoRefuse(t, d)
			case "advance":
				w.DoAdvance(t, d)
			case "reconcile":
				return doReconcile(t, w, d)
			default:
				d.Fatalf(t, "no verb %q", d.Cmd)
			}
			w.sync()
			return w.Flush()
		})
	})
}

func doController(t *testing.T, w *world, d *datadriven.TestData) {
	var name string
	var replicas, minReady int
	d.ScanArgs(t, "name", &name)
	d.ScanArgs(t, "replicas", &replicas)
	d.MaybeScanArgs(t, "min-ready", &minReady)
	rc := &core.ReplicationController{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if live, ok := w.controllers[name]; ok {
		rc = live.DeepCopy()
	}
	rc.Generation++
	n := int32(replicas)
	rc.Spec = core.ReplicationControllerSpec{
		Replicas: &n, MinReadySeconds: int32(minReady), Selector: map[string]string{"app": name},
		Template: &core.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}},
	}
	w.Stamp(&rc.ObjectMeta)
	w.controllers[name] = rc
}

func doPod(t *testing.T, w *world, d *datadriven.TestData) {
	var name string
	d.ScanArgs(t, "name", &name)
	pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "web"}}}
	if live, ok := w.pods[name]; ok {
		pod = live.DeepCopy()
	}
	if d.HasArg("ready") {
		controllertest.MakeReady(pod, w.Now.Now())
	}
	w.Stamp(&pod.ObjectMeta)
	w.pods[name] = pod
}

func doReconcile(t *testing.T, w *world, d *datadriven.TestData) string {
	var name string
	d.ScanArgs(t, "name", &name)
	err := w.c.Reconcile(context.Background(), types.NamespacedName{Namespace: "default", Name: name})
	out := w.Flush()
	if err != nil {
		out += fmt.Sprintf("error: %v\n", err)
	}
	w.sync()
	clear(w.Queued) // by its own writes
	return out
}
