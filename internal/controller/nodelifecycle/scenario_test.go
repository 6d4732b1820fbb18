package nodelifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/fleet"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// world is the server, the caches, the queue and the clock of a controller, and the kubelets that
// renew leases.
type world struct {
	controller *Controller
	nodes      *memcache.Cache[*corev1.Node]
	leases     *memcache.Cache[*coordinationv1.Lease]
	pods       *memcache.Cache[*core.Pod]
	clock      *testclock.FakeClock
	renewing   map[string]bool
	queue      []string
	down       bool          // the server does not respond
	asleep     bool          // the controller does not run
	set        time.Duration // how far the clocks of kubelets are ahead
	uids       int
	log        []string
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		nodes: memcache.New[*corev1.Node](), leases: memcache.New[*coordinationv1.Lease](), pods: memcache.New[*core.Pod](),
		clock: testclock.NewFakeClock(start), renewing: map[string]bool{},
	}
	if err := w.pods.AddIndex(client.PodsByNode, client.PodNodes); err != nil {
		t.Fatal(err)
	}
	w.controller = newController(w.nodes, w.leases, w.pods, w, w, Options{Clock: w.clock}.withDefaults())
	w.controller.queue = w
	w.nodes.OnChange(w.controller.onNode)
	return w
}

func (w *world) Add(name string) {
	if !slices.Contains(w.queue, name) {
		w.queue = append(w.queue, name)
	}
}

func (w *world) AddAfter(string, time.Duration) {}

func (w *world) work(t *testing.T) {
	t.Helper()
	for round := 0; len(w.queue) > 0 && !w.down; round++ {
		if round > 1000 {
			t.Fatal("does not come to rest")
		}
		name := w.queue[0]
		w.queue = w.queue[1:]
		if err := w.controller.reconcile(context.Background(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// pass advances the clock: leases are renewed every 10 s, and the controller runs every 5 s.
func (w *world) pass(t *testing.T, d time.Duration) {
	t.Helper()
	for end := w.clock.Now().Add(d); w.clock.Now().Before(end); {
		w.clock.SetTime(w.clock.Now().Add(5 * time.Second))
		if !w.down && w.clock.Since(start)%(10*time.Second) == 0 {
			for name := range w.renewing {
				w.renew(name)
			}
		}
		if !w.asleep {
			w.controller.pass(context.Background())
			w.work(t)
		}
	}
}

func (w *world) renew(name string) {
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: corev1.NamespaceNodeLease, Name: name}}
	now := metav1.NewMicroTime(w.clock.Now().Add(w.set))
	lease.Spec.RenewTime = &now
	w.leases.Put(lease)
}

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s: ", w.clock.Since(start))+fmt.Sprintf(format, args...))
}

func (w *world) Reachable(context.Context) error {
	if w.down {
		return errors.New("no answer")
	}
	return nil
}

func (w *world) UpdateNode(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	w.logf("%s taints: %s", node.Name, taintsOf(node))
	w.nodes.Put(node)
	return node, nil
}

func (w *world) UpdateNodeStatus(_ context.Context, node *corev1.Node) (*corev1.Node, error) {
	var out []string
	for _, c := range node.Status.Conditions {
		out = append(out, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason))
	}
	w.logf("%s conditions: %s", node.Name, strings.Join(out, " "))
	w.nodes.Put(node)
	return node, nil
}

func (w *world) MarkNotReady(_ context.Context, pod *core.Pod, _ time.Time) error {
	w.logf("pod %s is not ready", pod.Name)
	pod = pod.DeepCopy()
	pod.Status.Conditions[0].Status = corev1.ConditionFalse
	w.pods.Put(pod)
	return nil
}

func (w *world) Eventf(_ runtime.Object, _, reason, format string, args ...any) {
	w.logf("event %s: %s", reason, fmt.Sprintf(format, args...))
}

func taintsOf(node *corev1.Node) string {
	var out []string
	for _, t := range node.Spec.Taints {
		out = append(out, strings.TrimPrefix(t.Key, "node.kubernetes.io/")+":"+string(t.Effect))
	}
	if out == nil {
		return "none"
	}
	return strings.Join(out, " ")
}

// TestScenarios runs testdata. Rewrite with: go test ./internal/controller/nodelifecycle -rewrite.
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld(t)
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			w.play(t, d)
			w.work(t)
			out := strings.Join(w.log, "\n") + "\n"
			w.log = nil
			if out == "\n" {
				return "nothing\n"
			}
			return out
		})
	})
}

func (w *world) play(t *testing.T, d *datadriven.TestData) {
	t.Helper()
	switch d.Cmd {
	case "node":
		for line := range strings.Lines(d.Input) {
			w.node(t, d, strings.Fields(line))
		}
	case "pod": // pod NAME NODE
		pod := &core.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: d.CmdArgs[0].Key}}
		pod.Spec.NodeName = d.CmdArgs[1].Key
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
		w.pods.Put(pod)
	case "renew", "silence": // leases that are renewed from now on, or are not any more
		for _, arg := range d.CmdArgs {
			w.renewing[arg.Key] = d.Cmd == "renew"
			if d.Cmd == "renew" {
				w.renew(arg.Key)
			} else {
				delete(w.renewing, arg.Key)
			}
		}
	case "set": // how far the clocks of kubelets are ahead from now on
		var err error
		if w.set, err = time.ParseDuration(d.CmdArgs[0].Key); err != nil {
			t.Fatal(err)
		}
	case "gone":
		w.nodes.Delete("", d.CmdArgs[0].Key)
	case "down", "up":
		w.down = d.Cmd == "down"
	case "sleep", "wake":
		w.asleep = d.Cmd == "sleep"
	case "pass":
		by, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		w.pass(t, by)
	default:
		d.Fatalf(t, "unknown verb")
	}
}

// node parses: NAME Ready=True MemoryPressure=False zone=a lease=fleet cordoned taint=key:Effect
// heartbeat. The heartbeat is the current time; without the word, the previous heartbeat remains.
// An existing node keeps its taints unless new ones are given.
func (w *world) node(t *testing.T, d *datadriven.TestData, words []string) {
	t.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: words[0], CreationTimestamp: metav1.NewTime(w.clock.Now())}}
	old, known := w.nodes.Get("", words[0])
	if known {
		node.UID, node.CreationTimestamp, node.Spec.Taints = old.UID, old.CreationTimestamp, old.Spec.Taints
	} else {
		w.uids++
		node.UID = types.UID(fmt.Sprint(w.uids))
	}
	beat := slices.Contains(words, "heartbeat")
	for _, word := range words[1:] {
		key, value, _ := strings.Cut(word, "=")
		switch key {
		case "heartbeat":
		case "zone":
			node.Labels = map[string]string{corev1.LabelTopologyZone: value}
		case "lease":
			node.Annotations = map[string]string{fleet.AnnotationLease: value}
		case "cordoned":
			node.Spec.Unschedulable = true
		case "taint":
			name, effect, _ := strings.Cut(value, ":")
			node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: name, Effect: corev1.TaintEffect(effect)})
		default:
			c := corev1.NodeCondition{
				Type:   corev1.NodeConditionType(key),
				Status: corev1.ConditionStatus(value),
				Reason: "Kubelet",
			}
			if beat {
				c.LastHeartbeatTime = metav1.NewTime(w.clock.Now())
			} else if known {
				if had := condition(old, c.Type); had != nil {
					c.LastHeartbeatTime = had.LastHeartbeatTime
				}
			}
			node.Status.Conditions = append(node.Status.Conditions, c)
		}
	}
	w.nodes.Put(node)
}
