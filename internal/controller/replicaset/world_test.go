package replicaset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/workload"
)

// epoch is the time at which scenarios begin; ages in them count back from the clock.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// objects are pods and ReplicaSets.
type objects struct {
	pods controllertest.Store[*core.Pod]
	sets controllertest.Store[*apps.ReplicaSet]
}

func newObjects() objects {
	return objects{controllertest.Store[*core.Pod]{}, controllertest.Store[*apps.ReplicaSet]{}}
}

// world is a server, a cache that lags behind it until sync, and a controller between
// the two. The writes and events of a reconcile are collected as lines.
type world struct {
	wire *controllertest.Wire
	*Controller
	mu      sync.Mutex
	server  objects
	cache   objects
	now     *testclock.FakeClock
	version int
	made    int
	lines   []string
	refuse  map[string]error // verb → answer
	queued  map[string]bool  // names that events have put into the queue
}

func newWorld() *world {
	w := &world{
		server: newObjects(), cache: newObjects(), now: testclock.NewFakeClock(epoch),
		refuse: map[string]error{}, queued: map[string]bool{}, version: 100,
	}
	w.wire = controllertest.NewWire(w)
	w.Controller = NewController(Source{Kind: kind, Sets: w.cache.sets, Writer: w},
		workload.NewPods(w.cache.pods, w.wire, w, w.now), w.now, w)
	return w
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *world) stamp(m *metav1.ObjectMeta) {
	w.version++
	m.Namespace, m.ResourceVersion = "default", strconv.Itoa(w.version)
	if m.UID == "" {
		m.UID = types.UID("uid-" + m.Name)
	}
}

func (w *world) CreatePod(_ context.Context, pod *core.Pod) (*core.Pod, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refuse["create"]; err != nil {
		w.say("refused create")
		return nil, err
	}
	w.made++
	pod = pod.DeepCopy()
	pod.Name = pod.GenerateName + strconv.Itoa(w.made)
	pod.CreationTimestamp = metav1.NewTime(w.now.Now())
	pod.Status.Phase = corev1.PodPending
	w.stamp(&pod.ObjectMeta)
	w.server.pods[pod.Name] = pod
	w.say("create pod %s", pod.Name)
	return pod, nil
}

func (w *world) LivePods(_ context.Context, _ string, selector labels.Selector) ([]*core.Pod, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.say("list pods")
	return w.server.pods.Matching(selector), nil
}

func (w *world) PatchPod(_ context.Context, pod *core.Pod, patch []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	live, ok := w.server.pods[pod.Name]
	if !ok {
		w.say("patch pod %s: not found", pod.Name)
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	patched, err := controllertest.Patched(live, patch)
	if err != nil {
		return err
	}
	w.stamp(&patched.ObjectMeta)
	w.server.pods[pod.Name] = patched
	w.say("patch pod %s: owners %v", pod.Name, controllertest.Owners(patched))
	return nil
}

func (w *world) DeletePod(_ context.Context, pod *core.Pod) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refuse["delete"]; err != nil {
		w.say("refused delete of pod %s", pod.Name)
		return err
	}
	live, ok := w.server.pods[pod.Name]
	if !ok {
		w.say("delete pod %s: not found", pod.Name)
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	}
	w.say("delete pod %s", pod.Name)
	if live.Spec.NodeName == "" {
		delete(w.server.pods, pod.Name)
		return nil
	}
	live = live.DeepCopy()
	now := metav1.NewTime(w.now.Now())
	live.DeletionTimestamp = &now
	w.stamp(&live.ObjectMeta)
	w.server.pods[pod.Name] = live
	return nil
}

func (w *world) LiveReplicaSet(_ context.Context, _, name string) (*apps.ReplicaSet, error) {
	rs, ok := w.server.sets[name]
	if !ok {
		return nil, apierrors.NewNotFound(kindResource, name)
	}
	return rs, nil
}

func (w *world) UpdateReplicaSetStatus(_ context.Context, rs *apps.ReplicaSet) error {
	live, ok := w.server.sets[rs.Name]
	if !ok {
		return apierrors.NewNotFound(kindResource, rs.Name)
	}
	if live.ResourceVersion != rs.ResourceVersion {
		w.say("status: conflict")
		return apierrors.NewConflict(kindResource, rs.Name, errors.New("changed"))
	}
	rs = rs.DeepCopy()
	w.stamp(&rs.ObjectMeta)
	w.server.sets[rs.Name] = rs
	s := rs.Status
	line := fmt.Sprintf(
		"status %s: replicas=%d labelled=%d ready=%d available=%d terminating=%d generation=%d",
		rs.Name,
		s.Replicas,
		s.FullyLabeledReplicas,
		s.ReadyReplicas,
		s.AvailableReplicas,
		*s.TerminatingReplicas,
		s.ObservedGeneration,
	)
	for _, c := range s.Conditions {
		line += fmt.Sprintf(" %s=%s/%s(%s)", c.Type, c.Status, c.Reason, c.Message)
	}
	w.say("%s", line)
	return nil
}

func (w *world) Eventf(object runtime.Object, eventtype, reason, format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if eventtype == corev1.EventTypeWarning {
		w.say("event %s %s", reason, fmt.Sprintf(format, args...))
	}
}

func (w *world) Add(key types.NamespacedName) { w.queued[key.Name] = true }

func (w *world) AddAfter(key types.NamespacedName, d time.Duration) {
	if d == gatherWindow {
		w.Add(key)
		return
	}
	w.say("%s again in %v", key.Name, d)
}

// sync brings the cache up to the server and delivers the events.
func (w *world) sync() {
	w.cache.sets.Follow(w.server.sets, w.OnSet)
	w.syncPods()
}

func (w *world) syncPods() { w.cache.pods.Follow(w.server.pods, w.OnPod) }

// flush returns the collected lines; parallel writes of one kind come in any order and
// are sorted.
func (w *world) flush() string {
	lines := w.lines
	w.lines = nil
	controllertest.Sort(lines)
	if len(w.queued) > 0 {
		lines = append(lines, "queue: "+strings.Join(slices.Sorted(maps.Keys(w.queued)), " "))
		clear(w.queued)
	}
	if len(lines) == 0 {
		return "ok\n"
	}
	return strings.Join(lines, "\n") + "\n"
}
