package daemonset

import (
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"pgregory.net/rapid"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
)

// model is a set with nodes and pods. Plans are applied as the server would, and kubelets change
// pods at random.
type model struct {
	set      *apps.DaemonSet
	nodes    []*corev1.Node
	pods     []*core.Pod // the oldest first
	revision int
	made     int
}

func (m *model) hash() string { return fmt.Sprintf("r%d", m.revision) }

func (m *model) gathered() Gathered {
	return Gathered{Set: m.set, Nodes: m.nodes, Pods: m.pods, Hashes: []string{m.hash()}, Now: time.Unix(1000, 0)}
}

func isUp(pod *core.Pod) bool { return len(pod.Status.Conditions) > 0 }

// podsOn returns the pods of a node that are not being deleted.
func (m *model) podsOn(node string) []*core.Pod {
	var pods []*core.Pod
	for _, pod := range m.pods {
		if name, _ := nodeOf(pod); name == node && pod.DeletionTimestamp == nil {
			pods = append(pods, pod)
		}
	}
	return pods
}

func (m *model) isNew(pod *core.Pod) bool { return pod.Labels[hashLabel] == m.hash() }

// isSuitable is a naive check: the only taints of the model are these two.
func isSuitable(node *corev1.Node) (start, stay bool) {
	start, stay = true, true
	for _, taint := range node.Spec.Taints {
		start = false
		stay = stay && taint.Effect != corev1.TaintEffectNoExecute
	}
	return start, stay
}

func (m *model) limits() (surge, unavailable int) {
	r := m.set.Spec.UpdateStrategy.RollingUpdate
	return r.MaxSurge.IntValue(), r.MaxUnavailable.IntValue()
}

// check checks a plan against the guarantees of the package.
func (m *model) check(t *rapid.T, plan Plan) {
	surge, maxUnavailable := m.limits()
	creates := map[string]int{}
	for _, node := range plan.Create {
		creates[node]++
	}
	deleted := map[types.UID]bool{}
	for _, pod := range plan.Delete {
		if pod.DeletionTimestamp != nil || deleted[pod.UID] {
			t.Fatalf("pod %s is deleted twice", pod.Name)
		}
		deleted[pod.UID] = true
	}
	lost, unavailable, wanted := 0, 0, 0
	for _, node := range m.nodes {
		start, stay := isSuitable(node)
		pods := m.podsOn(node.Name)
		if creates[node.Name] > 0 && (!start || creates[node.Name] > 1 || surge == 0 && len(pods) > 0) {
			t.Fatalf("%d pods are created on %s, which has %d", creates[node.Name], node.Name, len(pods))
		}
		left := 0
		up, keptUp := false, false
		for _, pod := range pods {
			up = up || isUp(pod)
			if deleted[pod.UID] {
				continue
			}
			keptUp = keptUp || isUp(pod)
			if !stay {
				t.Fatalf("pod %s stays where it must not", pod.Name)
			}
			if !pod.Finished() {
				left++
			}
		}
		if left+creates[node.Name] > 2 || surge == 0 && left > 1 {
			t.Fatalf("%d pods on %s, and %d come", left, node.Name, creates[node.Name])
		}
		if start {
			wanted++
			if !up {
				unavailable++
			} else if !keptUp {
				lost++
			}
		}
	}
	if surge > 0 && lost > 0 && maxUnavailable == 0 && !m.hasPodsOfEqualAge() {
		t.Fatalf("%d nodes lose their available pod although the set surges", lost)
	}
	if surge == 0 && lost > 0 && lost+unavailable > maxUnavailable && !m.hasPodsOfEqualAge() {
		t.Fatalf("%d nodes lose their available pod while %d have none, of %d that may", lost, unavailable, maxUnavailable)
	}
}

// hasPodsOfEqualAge reports whether a node has several pods of the same age, so that the one that remains need
// not be the available one.
func (m *model) hasPodsOfEqualAge() bool {
	surge, _ := m.limits()
	for _, node := range m.nodes {
		newer, older := 0, 0
		for _, pod := range m.podsOn(node.Name) {
			if m.isNew(pod) {
				newer++
			} else {
				older++
			}
		}
		if newer > 1 || older > 1 || surge == 0 && newer+older > 1 {
			return true
		}
	}
	return false
}

func (m *model) apply(plan Plan) {
	gone := map[types.UID]bool{}
	for _, pod := range plan.Delete {
		gone[pod.UID] = true
	}
	for i, pod := range m.pods {
		if gone[pod.UID] {
			m.pods[i] = pod.DeepCopy()
			m.pods[i].DeletionTimestamp = &metav1.Time{Time: time.Unix(900, 0)}
		}
	}
	for _, node := range plan.Create {
		m.made++
		pod := NewPod(m.set, node, m.hash())
		pod.Name, pod.UID = fmt.Sprintf("p%04d", m.made), types.UID(fmt.Sprint(m.made))
		pod.CreationTimestamp = metav1.Unix(int64(m.made), 0)
		pod.Status.Phase = corev1.PodPending
		m.pods = append(m.pods, pod)
	}
	m.set.Status = plan.Status
}

// actRandomly makes the scheduler and kubelets bind, start, break, end and remove pods, and changes nodes.
func (m *model) actRandomly(t *rapid.T) {
	var left []*core.Pod
	for _, pod := range m.pods {
		pod = pod.DeepCopy()
		switch rapid.SampledFrom([]string{"stay", "stay", "go on", "break", "fail"}).Draw(t, pod.Name) {
		case "go on":
			if pod.DeletionTimestamp != nil {
				continue
			}
			m.start(pod)
		case "break":
			pod.Status.Conditions = nil
		case "fail":
			pod.Status.Phase, pod.Status.Conditions = corev1.PodFailed, nil
		}
		left = append(left, pod)
	}
	m.pods = left
	if i := rapid.IntRange(0, 20).Draw(t, "node"); i < len(m.nodes) {
		m.nodes[i] = newNode(t, i)
	}
}

func (m *model) start(pod *core.Pod) {
	pod.Spec.NodeName, _ = nodeOf(pod)
	controllertest.MakeReady(pod, time.Unix(500, 0))
}

func newNode(t *rapid.T, i int) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%d", i)}}
	effect := rapid.SampledFrom(
		[]corev1.TaintEffect{"", "", corev1.TaintEffectNoSchedule, corev1.TaintEffectNoExecute},
	).Draw(t, node.Name)
	if effect != "" {
		node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: effect}}
	}
	return node
}

func (m *model) edit(t *rapid.T) {
	m.revision++
	surge, unavailable := intstr.FromInt32(0), intstr.FromInt32(0)
	if n := int32(rapid.IntRange(1, 3).Draw(t, "limit")); rapid.Bool().Draw(t, "surge") {
		surge = intstr.FromInt32(n)
	} else {
		unavailable = intstr.FromInt32(n)
	}
	m.set.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
		Type:          appsv1.RollingUpdateDaemonSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxSurge: &surge, MaxUnavailable: &unavailable},
	}
}

// Whatever users, nodes and kubelets do, each step keeps the guarantees; and when they stop, each
// node gets its pod.
func TestEveryStepIsSafeAndTheLastIsTheSpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{set: &apps.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: "agent", UID: "me"}}}
		m.set.Spec.Template = template("v1")
		for i := range rapid.IntRange(0, 5).Draw(t, "nodes") {
			m.nodes = append(m.nodes, newNode(t, i))
		}
		m.edit(t)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "edit") == 0 {
				m.edit(t)
			}
			plan := Decide(m.gathered())
			m.check(t, plan)
			m.apply(plan)
			m.actRandomly(t)
		}
		m.settle(t)
	})
}

// settle makes all pods run until nothing changes.
func (m *model) settle(t *rapid.T) {
	for range 200 {
		plan := Decide(m.gathered())
		m.check(t, plan)
		m.apply(plan)
		quiet := len(plan.Create)+len(plan.Delete) == 0
		var left []*core.Pod
		for _, pod := range m.pods {
			switch {
			case pod.DeletionTimestamp != nil:
				quiet = false
				continue
			case !pod.Finished() && !isUp(pod):
				pod = pod.DeepCopy()
				m.start(pod)
				quiet = false
			}
			left = append(left, pod)
		}
		m.pods = left
		if !quiet {
			continue
		}
		for _, node := range m.nodes {
			start, stay := isSuitable(node)
			pods := m.podsOn(node.Name)
			if start && (len(pods) != 1 || !m.isNew(pods[0])) || !stay && len(pods) > 0 || len(pods) > 1 {
				t.Fatalf("came to rest with %d pods on %s", len(pods), node.Name)
			}
		}
		return
	}
	t.Fatal("does not come to rest")
}
