package nodetaint

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/eviction"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// world is the server, the caches, the queue, the clock and the event recorder of a controller.
type world struct {
	controller *Controller
	pods       *memcache.Cache[*core.Pod]
	nodes      *memcache.Cache[*corev1.Node]
	clock      *testclock.FakeClock
	ready      []types.NamespacedName
	later      []delayed
	fails      int // number of deletions that fail
	conflicts  int // number of conditions whose write conflicts
	log        []string
	made       int // number of created pods
}

type delayed struct {
	at  time.Time
	key types.NamespacedName
}

func newWorld(t *testing.T) *world {
	w := &world{
		pods:  memcache.New[*core.Pod](),
		nodes: memcache.New[*corev1.Node](),
		clock: testclock.NewFakeClock(time.Unix(0, 0)),
	}
	if err := w.pods.AddIndex(client.PodsByNode, client.PodNodes); err != nil {
		t.Fatal(err)
	}
	w.controller = newController(w.pods, w.nodes, eviction.Config{Server: w, Limit: w, Events: w, Clock: w.clock})
	w.controller.evictor.Queue = w
	w.pods.OnChange(w.controller.onPod)
	w.nodes.OnChange(w.controller.onNode)
	return w
}

func (w *world) Add(key types.NamespacedName) {
	if !slices.Contains(w.ready, key) {
		w.ready = append(w.ready, key)
	}
}

func (w *world) AddAfter(key types.NamespacedName, d time.Duration) {
	w.later = append(w.later, delayed{w.clock.Now().Add(d), key})
}

// work processes all ready pods.
func (w *world) work(t *testing.T) {
	for round := 0; len(w.ready) > 0; round++ {
		if round > 1000 {
			t.Fatal("does not come to rest")
		}
		key := w.ready[0]
		w.ready = w.ready[1:]
		if err := w.controller.evictor.Reconcile(context.Background(), key); err != nil {
			w.logf("again: %v", err)
			w.Add(key)
		}
	}
}

// pass advances the clock, and enqueues the delayed keys.
func (w *world) pass(t *testing.T, d time.Duration) {
	end := w.clock.Now().Add(d)
	for {
		slices.SortStableFunc(w.later, func(a, b delayed) int { return a.at.Compare(b.at) })
		if len(w.later) == 0 || w.later[0].at.After(end) {
			break
		}
		due := w.later[0]
		w.later = w.later[1:]
		w.clock.SetTime(due.at)
		w.Add(due.key)
		w.work(t)
	}
	w.clock.SetTime(end)
}

func (w *world) logf(format string, args ...any) {
	w.log = append(w.log, fmt.Sprintf("%s: ", w.clock.Since(time.Unix(0, 0)))+fmt.Sprintf(format, args...))
}

func (w *world) Wait(context.Context) error { return nil }

func (w *world) MarkDisrupted(_ context.Context, pod *core.Pod, c corev1.PodCondition) error {
	if w.conflicts > 0 {
		w.conflicts--
		return apierrors.NewConflict(corev1.Resource("pods"), pod.Name, errors.New("it was changed"))
	}
	w.logf("mark %s: %s %s: %s", pod.Name, c.Type, c.Reason, c.Message)
	return nil
}

func (w *world) Delete(_ context.Context, pod *core.Pod) error {
	if w.fails > 0 {
		w.fails--
		return errors.New("the connection is lost")
	}
	w.logf("delete %s", pod.Name)
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = ptr.To(metav1.NewTime(w.clock.Now()))
	w.pods.Put(pod)
	return nil
}

func (w *world) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	w.logf("event on %s: %s %s: %s", object.(metav1.Object).GetName(), eventtype, reason, fmt.Sprintf(format, args...))
}

// TestScenarios runs testdata. Rewrite with: go test ./internal/controller/nodetaint -rewrite.
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
	switch d.Cmd {
	case "objects":
		for line := range strings.Lines(d.Input) {
			words := strings.Fields(line)
			switch words[0] {
			case "node":
				w.nodes.Put(w.node(t, d, words[1], words[2:]))
			case "pod":
				w.pods.Put(w.pod(t, d, words[1], words[2:]))
			default:
				d.Fatalf(t, "unknown kind %s", words[0])
			}
		}
	case "gone": // pod=… or node=…
		for _, arg := range d.CmdArgs {
			if arg.Key == "pod" {
				w.pods.Delete("default", arg.Vals[0])
			} else {
				w.nodes.Delete("", arg.Vals[0])
			}
		}
	case "fail":
		w.fails++
	case "conflict":
		w.conflicts++
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

// node parses: node n1 key=value:Effect key:Effect@unstamped. A taint that the node already has
// keeps its time, as on a server.
func (w *world) node(t *testing.T, d *datadriven.TestData, name string, words []string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}
	old, known := w.nodes.Get("", name)
	for _, word := range words {
		text, unstamped := strings.CutSuffix(word, "@unstamped")
		pair, effect, ok := strings.Cut(text, ":")
		if !ok {
			d.Fatalf(t, "%s is no taint", word)
		}
		taint := corev1.Taint{Effect: corev1.TaintEffect(effect), TimeAdded: ptr.To(metav1.NewTime(w.clock.Now()))}
		taint.Key, taint.Value, _ = strings.Cut(pair, "=")
		if unstamped {
			taint.TimeAdded = nil
		} else if known {
			for _, had := range old.Spec.Taints {
				if had.ToString() == taint.ToString() {
					taint.TimeAdded = had.TimeAdded
				}
			}
		}
		node.Spec.Taints = append(node.Spec.Taints, taint)
	}
	return node
}

// pod parses: pod p n1 tolerates=key/30,other done. A new pod is scheduled at the current time; a
// pod with "placed" was created with a node, and has no PodScheduled condition.
func (w *world) pod(t *testing.T, d *datadriven.TestData, name string, words []string) *core.Pod {
	w.made++
	pod := &core.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID(fmt.Sprint(name, w.made))},
	}
	scheduled := metav1.NewTime(w.clock.Now())
	if old, ok := w.pods.Get("default", name); ok {
		pod.UID, scheduled = old.UID, old.Status.Conditions[0].LastTransitionTime
	}
	pod.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: scheduled},
	}
	for _, word := range words {
		list, tolerates := strings.CutPrefix(word, "tolerates=")
		switch {
		case word == "placed":
			pod.CreationTimestamp, pod.Status.Conditions = scheduled, nil
		case word == "done":
			pod.Status.Phase = corev1.PodSucceeded
		case !tolerates:
			pod.Spec.NodeName = word
		default:
			for text := range strings.SplitSeq(list, ",") {
				key, seconds, limited := strings.Cut(text, "/")
				toleration := corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists}
				if limited {
					n, err := strconv.ParseInt(seconds, 10, 64)
					if err != nil {
						d.Fatalf(t, "%v", err)
					}
					toleration.Effect, toleration.TolerationSeconds = corev1.TaintEffectNoExecute, &n
				}
				pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
			}
		}
	}
	return pod
}
