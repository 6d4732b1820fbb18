package podgc

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
)

func pod(name, node string, change ...func(*core.Pod)) *core.Pod {
	p := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name, Generation: 3}}
	p.Spec.NodeName, p.Status.Phase = node, corev1.PodRunning
	for _, f := range change {
		f(p)
	}
	return p
}

func withDeletion(p *core.Pod) {
	grace := int64(30)
	p.DeletionTimestamp, p.DeletionGracePeriodSeconds = &metav1.Time{Time: time.Unix(900, 0)}, &grace
}

func withForcedDeletion(p *core.Pod) {
	withDeletion(p)
	*p.DeletionGracePeriodSeconds = 0
}

func withFinished(p *core.Pod) { p.Status.Phase = corev1.PodSucceeded }

func TestDecide(t *testing.T) {
	const quarantine = 10 * time.Second
	for _, tc := range []struct {
		name string
		pod  *core.Pod
		node Node
		want Verdict
	}{
		{"on a node", pod("a", "n"), Node{Exists: true}, Verdict{}},
		{"deleting on a node", pod("a", "n", withDeletion), Node{Exists: true}, Verdict{}},
		{"on a node out of service", pod("a", "n"), Node{Exists: true, OutOfService: true}, Verdict{}},
		{"deleting on a node out of service", pod("a", "n", withDeletion), Node{Exists: true, OutOfService: true},
			Verdict{Delete: true}},
		{"node just missing", pod("a", "n"), Node{}, Verdict{Wait: quarantine}},
		{"node missing for some time", pod("a", "n"), Node{MissingFor: 4 * time.Second}, Verdict{Wait: 6 * time.Second}},
		{"node gone", pod("a", "n"), Node{MissingFor: quarantine}, Verdict{Delete: true, Disrupts: true}},
		{"deleting, node just missing", pod("a", "n", withDeletion), Node{}, Verdict{Delete: true, Disrupts: true}},
		{"finished, node gone", pod("a", "n", withFinished), Node{MissingFor: quarantine}, Verdict{Delete: true, Disrupts: true}},
		{"waiting for a node", pod("a", ""), Node{}, Verdict{}},
		{"deleting before it has a node", pod("a", "", withDeletion), Node{}, Verdict{Delete: true}},
		{"held by a finalizer", pod("a", "", withForcedDeletion, withFinished), Node{}, Verdict{}},
		{"without grace, but not marked", pod("a", "n", withForcedDeletion), Node{}, Verdict{Delete: true, Disrupts: true}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Decide(tc.pod, tc.node, quarantine)); diff != "" {
				t.Errorf("verdict (-want +got):\n%s", diff)
			}
		})
	}
}

func TestFailed(t *testing.T) {
	now := time.Unix(1000, 0)
	since := metav1.NewTime(time.Unix(500, 0))
	p := pod("a", "n")
	p.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: "Earlier", LastTransitionTime: since},
	}
	before := p.DeepCopy()
	failed, changed := Failed(p, true, now)
	want := before.DeepCopy()
	want.Status.Phase, want.Status.ObservedGeneration = corev1.PodFailed, 3
	want.Status.Conditions[1].Reason, want.Status.Conditions[1].Message = "DeletionByPodGC", "PodGC: node no longer exists"
	want.Status.Conditions[1].ObservedGeneration = 3
	if diff := cmp.Diff(want, failed); diff != "" || !changed {
		t.Errorf("changed %v (-want +got):\n%s", changed, diff)
	}
	if diff := cmp.Diff(before, p); diff != "" {
		t.Errorf("the cached pod was changed:\n%s", diff)
	}
	if _, changed := Failed(pod("a", "n", withFinished), true, now); changed {
		t.Error("the result of a finished pod was changed")
	}
	if failed, _ := Failed(pod("a", ""), false, now); len(failed.Status.Conditions) > 0 {
		t.Errorf("conditions %v on a pod that had no node", failed.Status.Conditions)
	}
}

// world is caches, a server and a queue.
type world struct {
	*Controller
	cached []*core.Pod
	nodes  map[string]*corev1.Node // in the cache
	stored map[string]bool         // nodes on the server
	now    *testclock.FakePassiveClock
	lines  []string
}

func newWorld(pods ...*core.Pod) *world {
	w := &world{
		cached: pods, nodes: map[string]*corev1.Node{}, stored: map[string]bool{},
		now: testclock.NewFakePassiveClock(time.Unix(1000, 0)),
	}
	w.Controller = &Controller{
		pods: w, nodes: nodes(w.nodes), write: w, live: w, quarantine: 10 * time.Second, clock: w.now, queue: w,
		missing: map[string]time.Time{},
	}
	return w
}

type nodes map[string]*corev1.Node

func (n nodes) Get(_, name string) (*corev1.Node, bool) {
	node, ok := n[name]
	return node, ok
}

func (w *world) Get(_, name string) (*core.Pod, bool) {
	i := slices.IndexFunc(w.cached, func(p *core.Pod) bool { return p.Name == name })
	if i < 0 {
		return nil, false
	}
	return w.cached[i], true
}

func (w *world) ByIndex(_, node string) []*core.Pod {
	return slices.DeleteFunc(slices.Clone(w.cached),
		func(p *core.Pod) bool { return !slices.Contains(client.PodNodes(p), node) })
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *world) UpdatePodStatus(_ context.Context, pod *core.Pod) error {
	w.say("%s is %s, %d conditions", pod.Name, pod.Status.Phase, len(pod.Status.Conditions))
	return nil
}

func (w *world) DeletePod(_ context.Context, pod *core.Pod) error {
	w.say("delete %s", pod.Name)
	return nil
}

func (w *world) NodeExists(_ context.Context, name string) (bool, error) {
	w.say("get node %s", name)
	return w.stored[name], nil
}

func (w *world) Add(key Key)                          { w.say("queue %v", key) }
func (w *world) AddAfter(key Key, wait time.Duration) { w.say("%v again in %v", key, wait) }

func (w *world) reconcile(t *testing.T, key Key) {
	t.Helper()
	if err := w.Reconcile(context.Background(), key); err != nil {
		t.Error(err)
	}
}

func (w *world) expect(t *testing.T, when string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.lines); diff != "" {
		t.Errorf("%s (-want +got):\n%s", when, diff)
	}
	w.lines = nil
}

func TestPodsOfDeletedNode(t *testing.T) {
	w := newWorld(pod("a", "n"), pod("b", "n", withDeletion), pod("c", "n", withFinished), pod("d", "m"))
	w.nodes["m"] = &corev1.Node{}
	w.onNode(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, nil)
	w.expect(t, "node deleted", "queue {n  }")
	w.reconcile(t, Key{Node: "n"})
	w.expect(t, "at once", "get node n", "b is Failed, 1 conditions", "delete b", "{n  } again in 10s")
	w.cached = slices.Delete(w.cached, 1, 2)
	w.now.SetTime(w.now.Now().Add(10 * time.Second))
	w.reconcile(t, Key{Node: "n"})
	w.expect(t, "after the quarantine", "get node n", "a is Failed, 1 conditions", "delete a", "delete c")
	w.cached = nil
	w.reconcile(t, Key{Node: "n"})
	w.expect(t, "nothing left")
	if len(w.missing) > 0 {
		t.Errorf("still missing: %v", w.missing)
	}
}

func TestRecreatedNodeEndsTheQuarantine(t *testing.T) {
	w := newWorld(pod("a", "n"))
	w.reconcile(t, Key{Node: "n"})
	w.expect(t, "missing", "get node n", "{n  } again in 10s")
	w.onNode(nil, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	w.now.SetTime(w.now.Now().Add(10 * time.Second))
	w.reconcile(t, Key{Node: "n"})
	w.expect(t, "missing again, in the cache at least", "get node n", "{n  } again in 10s")
	w.stored["n"] = true
	w.now.SetTime(w.now.Now().Add(10 * time.Second))
	w.reconcile(t, Key{Node: "n"})
	w.expect(t, "the server has it", "get node n")
}

func TestPodEvents(t *testing.T) {
	w := newWorld()
	w.nodes["n"] = &corev1.Node{}
	w.nodes["out"] = &corev1.Node{Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: corev1.TaintNodeOutOfService}}}}
	for _, p := range []*core.Pod{
		pod("a", "n"), pod("b", "n", withDeletion), pod("c", ""), pod("d", "", withDeletion),
		pod("e", "gone"), pod("f", "out"), pod("g", "out", withDeletion),
	} {
		w.onPod(nil, p)
	}
	w.onPod(pod("h", "gone"), nil)
	w.expect(t, "events", "queue { x d}", "queue {gone  }", "queue {out  }")
	w.cached = []*core.Pod{pod("d", "", withDeletion), pod("f", "out"), pod("g", "out", withDeletion)}
	w.reconcile(t, Key{Namespace: "x", Pod: "d"})
	w.reconcile(t, Key{Node: "out"})
	w.expect(t, "deletions", "d is Failed, 0 conditions", "delete d", "g is Failed, 0 conditions", "delete g")
}
