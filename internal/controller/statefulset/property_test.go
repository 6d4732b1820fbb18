package statefulset

import (
	"fmt"
	"slices"
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

// model is a set with its pods. Plans are applied as the server would, and kubelets change pods at
// random.
type model struct {
	set             *apps.StatefulSet
	pods            map[string]*core.Pod
	current, update Revision
	made            int
}

func revisionFor(n int) Revision {
	t := template(fmt.Sprint(n))
	return Revision{Name: fmt.Sprintf("r%d", n), Template: &t}
}

func (m *model) gathered() Gathered {
	g := Gathered{Set: m.set, Current: m.current, Update: m.update, Now: time.Unix(1000, 0)}
	for _, pod := range m.pods {
		g.Pods = append(g.Pods, pod)
	}
	return g
}

func (m *model) isUp(ordinal int) bool {
	pod := m.pods[podName(m.set, ordinal)]
	return pod != nil && pod.DeletionTimestamp == nil && len(pod.Status.Conditions) > 0
}

// unavailable returns the number of ordinals without an available pod.
func (m *model) unavailable() int {
	n := 0
	for i := range replicas(m.set) {
		if !m.isUp(start(m.set) + i) {
			n++
		}
	}
	return n
}

func (m *model) apply(plan Plan) {
	for _, member := range plan.Create {
		m.made++
		pod := member.Pod
		pod.UID, pod.Status.Phase = types.UID(fmt.Sprint(m.made)), corev1.PodPending
		m.pods[pod.Name] = pod
	}
	for _, pod := range plan.Delete {
		deleted := pod.DeepCopy()
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Unix(900, 0)}
		m.pods[pod.Name] = deleted
	}
	m.set.Status = plan.Status
	if plan.Status.CurrentRevision == m.update.Name {
		m.current = m.update
	}
}

// actRandomly makes kubelets start, break, end and remove pods.
func (m *model) actRandomly(t *rapid.T) {
	for _, pod := range m.inOrder() {
		pod = pod.DeepCopy()
		switch rapid.SampledFrom([]string{"stay", "stay", "go on", "break", "fail"}).Draw(t, pod.Name) {
		case "go on":
			if pod.DeletionTimestamp != nil {
				delete(m.pods, pod.Name)
				continue
			}
			controllertest.MakeReady(pod, time.Unix(500, 0))
		case "break":
			pod.Status.Conditions = nil
		case "fail":
			pod.Status.Phase, pod.Status.Conditions = corev1.PodFailed, nil
		}
		m.pods[pod.Name] = pod
	}
}

// inOrder returns the pods in the order of their ordinals.
func (m *model) inOrder() []*core.Pod {
	var pods []*core.Pod
	for _, pod := range m.pods {
		pods = append(pods, pod)
	}
	slices.SortFunc(pods, func(a, b *core.Pod) int {
		x, _ := ordinalOf(m.set, a)
		y, _ := ordinalOf(m.set, b)
		return x - y
	})
	return pods
}

// edit changes the spec as a user may.
func (m *model) edit(t *rapid.T, revisions int) {
	n := int32(rapid.IntRange(0, 6).Draw(t, "replicas"))
	partition := int32(rapid.IntRange(0, 7).Draw(t, "partition"))
	unavailable := intstr.FromInt32(int32(rapid.IntRange(1, 4).Draw(t, "maxUnavailable")))
	m.set.Spec.Replicas = &n
	m.set.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: int32(rapid.IntRange(0, 2).Draw(t, "start"))}
	m.set.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{
		Type:          appsv1.RollingUpdateStatefulSetStrategyType,
		RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition, MaxUnavailable: &unavailable},
	}
	m.update = revisionFor(revisions)
}

// check checks a plan against the guarantees of the package, given only the pods before it.
func (m *model) check(t *rapid.T, plan Plan) {
	for _, member := range plan.Create {
		ordinal, _ := ordinalOf(m.set, member.Pod)
		if m.pods[member.Pod.Name] != nil || !isWanted(m.set, ordinal) {
			t.Fatalf("pod %s is created beside one, or not wanted", member.Pod.Name)
		}
		below := ordinal-start(m.set) < partition(m.set)
		if want := map[bool]Revision{true: m.current, false: m.update}[below]; revisionOf(member.Pod) != want.Name {
			t.Fatalf("pod %s is created at %s, want %s", member.Pod.Name, revisionOf(member.Pod), want.Name)
		}
		for lower := start(m.set); ordered(m.set) && lower < ordinal; lower++ {
			if !m.isUp(lower) {
				t.Fatalf("pod %s is created although ordinal %d is not available", member.Pod.Name, lower)
			}
		}
	}
	lost := 0 // wanted, available, and deleted
	for _, pod := range plan.Delete {
		ordinal, _ := ordinalOf(m.set, pod)
		switch {
		case pod.DeletionTimestamp != nil:
			t.Fatalf("pod %s is deleted twice", pod.Name)
		case !isWanted(m.set, ordinal):
			for _, other := range m.pods {
				if o, _ := ordinalOf(m.set, other); ordered(m.set) && o > ordinal && !isWanted(m.set, o) {
					t.Fatalf("pod %s is deleted before %s", pod.Name, other.Name)
				}
			}
		case pod.Finished():
		case revisionOf(pod) == m.update.Name, ordinal-start(m.set) < partition(m.set):
			t.Fatalf("pod %s is deleted for an update that does not concern it", pod.Name)
		case m.isUp(ordinal):
			lost++
		}
	}
	if lost > 0 && lost+m.unavailable() > maxUnavailable(m.set) {
		t.Fatalf("%d available pods are deleted while %d are unavailable, of %d that may be", lost, m.unavailable(),
			maxUnavailable(m.set))
	}
	if ordered(m.set) && len(plan.Create) > 1 {
		t.Fatalf("an ordered set creates %d pods at once", len(plan.Create))
	}
}

func ordered(set *apps.StatefulSet) bool {
	return set.Spec.PodManagementPolicy != appsv1.ParallelPodManagement
}

// Whatever users and kubelets do, each step keeps the guarantees; and when they stop, the set
// becomes what its spec requests.
func TestEveryStepIsSafeAndTheLastIsTheSpec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &model{
			set:  &apps.StatefulSet{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "me"}},
			pods: map[string]*core.Pod{},
		}
		if rapid.Bool().Draw(t, "parallel") {
			m.set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
		}
		revisions := 1
		m.edit(t, revisions)
		m.current = m.update
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			if rapid.IntRange(0, 9).Draw(t, "edit") == 0 {
				revisions++
				m.edit(t, revisions)
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
		for name, pod := range m.pods {
			switch {
			case pod.DeletionTimestamp != nil:
				delete(m.pods, name)
				quiet = false
			case !pod.Finished() && len(pod.Status.Conditions) == 0:
				pod = pod.DeepCopy()
				controllertest.MakeReady(pod, time.Unix(500, 0))
				m.pods[name] = pod
				quiet = false
			}
		}
		if !quiet {
			continue
		}
		if len(m.pods) != replicas(m.set) || m.unavailable() > 0 {
			t.Fatalf("came to rest with %d pods and %d unavailable, want %d", len(m.pods), m.unavailable(), replicas(m.set))
		}
		for _, pod := range m.inOrder() {
			if ordinal, _ := ordinalOf(m.set, pod); ordinal-start(m.set) >= partition(m.set) &&
				revisionOf(pod) != m.update.Name {
				t.Fatalf("came to rest with %s at %s, want %s", pod.Name, revisionOf(pod), m.update.Name)
			}
		}
		return
	}
	t.Fatal("does not come to rest")
}
