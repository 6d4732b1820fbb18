package controllertest

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// Pods are the pods of a scenario.
type Pods struct {
	*Kind[*core.Pod]
	// New is a pod of the verb "pod" before its arguments are applied.
	New core.Pod
	// Owner returns the owner with this name.
	Owner func(name string) metav1.OwnerReference
	// Node returns the node on which a pod will run. By default all run, on no node.
	Node func(pod *core.Pod) (string, bool)
}

// NewPods adds pods to the scenario.
func NewPods(s *Scenario) *Pods {
	s.pods = &Pods{
		Kind: NewKind[*core.Pod](s, "pod", corev1.Resource("pods")),
		Node: func(*core.Pod) (string, bool) { return "", true },
	}
	s.Run = s.pods.run
	s.pods.Lossy = true
	s.pods.Complete = func(pod *core.Pod) { pod.Status.Phase = corev1.PodPending }
	return s.pods
}

// put handles the verb "pod".
func (p *Pods) put(l *line.Line) {
	pod := p.Edit(l.Name(), p.New.DeepCopy)
	now := p.s.Now.Now()
	switch owner := l.Text("owner", ""); owner {
	case "":
	case "none":
		pod.OwnerReferences = nil
	default:
		pod.OwnerReferences = []metav1.OwnerReference{p.Owner(owner)}
	}
	if l.Has("app") {
		pod.Labels["app"] = l.Text("app", "")
	}
	pod.Spec.NodeName = l.Text("node", pod.Spec.NodeName)
	if l.Has("age") {
		pod.CreationTimestamp = metav1.NewTime(now.Add(-l.Duration("age")))
	}
	if l.Has("ready") {
		MakeReady(pod, now.Add(-l.Duration("ready")))
	}
	pod.Status.Phase = corev1.PodPhase(l.Text("phase", string(pod.Status.Phase)))
	if l.Has("unready") {
		pod.Status.Conditions = nil
	}
	if l.Has("cost") {
		pod.Annotations = map[string]string{corev1.PodDeletionCost: l.Text("cost", "")}
	}
	restarts(pod, l.Int32("restarts", 0), l.Int32("sidecar-restarts", 0))
	if l.Has("deleting") {
		pod = Deleted(pod, now)
	}
	p.Put(pod)
}

// restarts sets how often the containers of a pod were restarted.
func restarts(pod *core.Pod, main, sidecar int32) {
	if main > 0 {
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "main", RestartCount: main}}
	}
	if sidecar > 0 {
		always := corev1.ContainerRestartPolicyAlways
		pod.Spec.InitContainers = []corev1.Container{{Name: "side", RestartPolicy: &always}}
		pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{Name: "side", RestartCount: sidecar}}
	}
}

// MakeReady sets the status of a pod that is ready since a time.
func MakeReady(pod *core.Pod, since time.Time) {
	pod.Status.Phase = corev1.PodRunning
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(since),
	}}
}

// doRun handles the verb "run".
func (p *Pods) doRun(l *line.Line) { p.run(l.List("not")) }

// run does what scheduler and kubelets do, and reports whether anything happened.
func (p *Pods) run(not []string) (moved bool) {
	for _, pod := range p.Server.List() {
		node, exists := p.Node(pod)
		late := slices.Contains(not, pod.Name)
		switch {
		case pod.DeletionTimestamp != nil:
			delete(p.Server, pod.Name)
			moved = true
		case late && pod.Spec.NodeName == node || pod.Status.Phase != corev1.PodPending || !exists:
		default:
			pod = pod.DeepCopy()
			pod.Spec.NodeName = node
			if !late {
				MakeReady(pod, p.s.Now.Now())
			}
			p.Put(pod)
			moved = true
		}
	}
	return moved
}
