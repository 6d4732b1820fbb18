package attach

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

type nodes []*corev1.Node

func (n nodes) List() []*corev1.Node { return n }

func (w *world) limits(own bool, kubelets ...string) *Limits {
	var list nodes
	for i, version := range kubelets {
		node := &corev1.Node{}
		node.Name, node.Status.NodeInfo.KubeletVersion = fmt.Sprint("n", i), version
		list = append(list, node)
	}
	return &Limits{own: own, pods: &w.pods, groups: &w.groups, nodes: list, events: w}
}

// reportedEvents returns the events about a group after it was processed twice. Each event is reported once.
func (w *world) reportedEvents(t *testing.T, l *Limits, key subject) string {
	t.Helper()
	for range 2 {
		if err := l.Reconcile(t.Context(), key); err != nil {
			t.Fatal(err)
		}
	}
	return w.takeEvents()
}

func groupKey(name string) subject {
	return subject{NamespacedName: types.NamespacedName{Namespace: "ns", Name: name}}
}

func (w *world) addGang(name string, minCount int32) {
	claim := scheduling.PodGroupResourceClaim{
		PodGroupResourceClaim: schedulingv1beta1.PodGroupResourceClaim{Name: "c", ResourceClaimTemplateName: new("t")},
	}
	group := &scheduling.PodGroup{
		ObjectMeta: w.meta(name),
		Spec:       scheduling.PodGroupSpec{ResourceClaims: []scheduling.PodGroupResourceClaim{claim}},
	}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: minCount}
	w.groups.put(group)
}

func (w *world) addMembers(group string, n int, claim string) {
	for i := range n {
		pod := w.addPod(fmt.Sprint(group, i), group)
		pod.Spec.ResourceClaims = []core.PodResourceClaim{
			{PodResourceClaim: corev1.PodResourceClaim{Name: "c", ResourceClaimName: &claim}},
		}
	}
}

func TestTooManyPodsAreReported(t *testing.T) {
	w := newWorld()
	w.addGang("fits", 256)
	w.addMembers("fits", 256, "fits-c")
	w.addGang("grows", 2)
	w.addMembers("grows", 257, "grows-c")
	w.addGang("apart", 2)
	w.addMembers("apart", 257, "another")
	w.addGang("never", 257)
	const never = "event on never: TooManyPodsOnOneClaim: a claim can be reserved for 256 pods at most in this cluster, which has no PodGroups of its own: a gang of 257 that shares one is never placed"
	const grows = "event on grows: TooManyPodsOnOneClaim: a claim can be reserved for 256 pods at most in this cluster, which has no PodGroups of its own: the other pods of the group have to wait"
	for name, want := range map[string]string{"fits": "nothing", "grows": grows, "apart": "nothing", "never": never,
		"gone": "nothing"} {
		if got := w.reportedEvents(t, w.limits(true), groupKey(name)); got != want {
			t.Errorf("%s: %s", name, got)
		}
		// If the server has PodGroups, one consumer represents all pods of a group.
		if got := w.reportedEvents(t, w.limits(false), groupKey(name)); got != "nothing" {
			t.Errorf("%s, native: %s", name, got)
		}
	}
}

func TestOldKubeletsAreReported(t *testing.T) {
	w := newWorld()
	w.addGang("g", 2)
	limits := w.limits(false, "v1.37.2", "v1.36.0", "v1.38.0", "v1.36.1", "1.34.3+x", "v1.35.0", "strange")
	got := w.reportedEvents(t, limits, groupKey("g"))
	if want := "event on g: KubeletsTooOld: claims of the group are reserved for the group, which kubelets before 1.37 refuse; these nodes have one: n1, n3, n4 and 1 more"; got != want {
		t.Error(got)
	}
	if got := w.reportedEvents(t, w.limits(true, "v1.34.0"), groupKey("g")); got != "nothing" {
		t.Errorf("with PodGroups of allot.dev: %s", got)
	}
}

func TestUnresolvedClaimIsReported(t *testing.T) {
	w := newWorld()
	w.addMembers("train", 1, "fabric.podgroup.allot.dev")
	w.addMembers("named", 1, "named-fabric")
	key := groupKey("train0")
	key.pod = true
	if got, want := w.reportedEvents(t, w.limits(true), key), "event on train0: GroupClaimNotNamed: nobody has replaced fabric.podgroup.allot.dev by the name of the group's claim (is the chart's MutatingAdmissionPolicy there?); write train-fabric"; got != want {
		t.Error(got)
	}
	key.Name = "named0"
	if got := w.reportedEvents(t, w.limits(true), key); got != "nothing" {
		t.Error(got)
	}
}
