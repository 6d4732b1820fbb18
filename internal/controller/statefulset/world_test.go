package statefulset

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

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/expectations"
	"github.com/allot-dev/allot/internal/controller/history"
)

// objects are what a StatefulSet has to do with.
type objects struct {
	sets      controllertest.Store[*apps.StatefulSet]
	pods      controllertest.Store[*core.Pod]
	claims    controllertest.Store[*corev1.PersistentVolumeClaim]
	revisions controllertest.Store[*appsv1.ControllerRevision]
}

func newObjects() objects {
	return objects{
		controllertest.Store[*apps.StatefulSet]{}, controllertest.Store[*core.Pod]{},
		controllertest.Store[*corev1.PersistentVolumeClaim]{}, controllertest.Store[*appsv1.ControllerRevision]{},
	}
}

// world is a server, a cache that sees it at each sync, and a controller in between. What the controller does is collected
// as lines.
type world struct {
	*Controller
	server, cache objects
	now           *testclock.FakeClock
	version       int

	mu     sync.Mutex // guards what is below, and the server's pods: pods are written in parallel
	lines  []string
	refuse map[string]error // verb → answer
	queued map[string]bool
	images map[string]string // of the revisions there have been, by name
}

func newWorld() *world {
	w := &world{
		server: newObjects(), cache: newObjects(), version: 100,
		now:    testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		refuse: map[string]error{}, queued: map[string]bool{}, images: map[string]string{},
	}
	c := &Controller{
		sets: w.cache.sets, pods: w.cache.pods, claims: w.cache.claims, revisions: w.cache.revisions,
		writeSet: w, writePod: w, writeClaim: w,
		writeRevision: controllertest.Revisions{Store: w.server.revisions, Stamp: w.stamp, Say: w.say},
		events:        w, clock: w.now, queue: w,
	}
	c.own = expectations.NewTracker(expectations.In(c.pods.Get), w.now, expectationLife)
	w.Controller = c
	return w
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *world) stamp(m *metav1.ObjectMeta) {
	w.version++
	m.Namespace, m.ResourceVersion = "default", strconv.Itoa(w.version)
	if m.UID == "" {
		m.UID = types.UID(fmt.Sprintf("uid-%s-%d", m.Name, w.version))
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = metav1.NewTime(w.now.Now())
	}
}

// sync brings the cache up to the server and delivers the events.
func (w *world) sync() {
	w.cache.sets.Follow(w.server.sets, w.onSet)
	w.cache.claims.Follow(w.server.claims, w.onClaim)
	w.cache.revisions.Follow(w.server.revisions, func(_, _ *appsv1.ControllerRevision) {})
	w.cache.pods.Follow(w.server.pods, w.onPod)
}

// flush returns the collected lines. Revisions are named by the image of their template; parallel writes of one kind come
// in any order and are sorted.
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
	return w.readable(strings.Join(lines, "\n") + "\n")
}

// readable replaces the names of revisions.
func (w *world) readable(text string) string {
	for _, r := range w.server.revisions {
		if template, err := history.Template(r); err == nil {
			w.images[r.Name] = template.Spec.Containers[0].Image
		}
	}
	for name, image := range w.images {
		text = strings.ReplaceAll(text, name, image)
	}
	return text
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(corev1.Resource(resource), name)
}

func (w *world) CreatePod(_ context.Context, pod *core.Pod) (*core.Pod, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refuse["create"]; err != nil {
		w.say("refused create of pod %s", pod.Name)
		return nil, err
	}
	if _, taken := w.server.pods[pod.Name]; taken {
		w.say("create pod %s: exists", pod.Name)
		return nil, apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name)
	}
	pod = pod.DeepCopy()
	pod.Status.Phase = corev1.PodPending
	w.stamp(&pod.ObjectMeta)
	w.server.pods[pod.Name] = pod
	w.say("create pod %s at %s", pod.Name, revisionOf(pod))
	return pod, nil
}

func (w *world) PatchPod(_ context.Context, pod *core.Pod, patch []byte) error {
	live, ok := w.server.pods[pod.Name]
	if !ok {
		return notFound("pods", pod.Name)
	}
	patched, err := controllertest.Patched(live, patch)
	if err != nil {
		return err
	}
	w.stamp(&patched.ObjectMeta)
	w.server.pods[pod.Name] = patched
	if !maps.Equal(live.Labels, patched.Labels) {
		w.say("label pod %s: %v", pod.Name, patched.Labels)
		return nil
	}
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
	if !ok || live.UID != pod.UID {
		w.say("delete pod %s: not found", pod.Name)
		return notFound("pods", pod.Name)
	}
	w.say("delete pod %s", pod.Name)
	live = live.DeepCopy()
	now := metav1.NewTime(w.now.Now())
	live.DeletionTimestamp = &now
	w.stamp(&live.ObjectMeta)
	w.server.pods[pod.Name] = live
	return nil
}

func (w *world) CreateClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := w.refuse["create-claim"]; err != nil {
		w.say("refused create of claim %s", claim.Name)
		return err
	}
	if _, taken := w.server.claims[claim.Name]; taken {
		w.say("create claim %s: exists", claim.Name)
		return apierrors.NewAlreadyExists(corev1.Resource("persistentvolumeclaims"), claim.Name)
	}
	claim = claim.DeepCopy()
	w.stamp(&claim.ObjectMeta)
	w.server.claims[claim.Name] = claim
	w.say("create claim %s %s", claim.Name, describeClaim(claim))
	return nil
}

func (w *world) UpdateClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) error {
	live, ok := w.server.claims[claim.Name]
	if !ok {
		return notFound("persistentvolumeclaims", claim.Name)
	}
	if live.ResourceVersion != claim.ResourceVersion {
		return apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), claim.Name, errors.New("changed"))
	}
	claim = claim.DeepCopy()
	w.stamp(&claim.ObjectMeta)
	w.server.claims[claim.Name] = claim
	w.say("update claim %s: %s", claim.Name, describeClaim(claim))
	return nil
}

func describeClaim(claim *corev1.PersistentVolumeClaim) string {
	return fmt.Sprintf("labels=%v owners=%v", claim.Labels, controllertest.Owners(claim))
}

func (w *world) LiveStatefulSet(_ context.Context, _, name string) (*apps.StatefulSet, error) {
	if set, ok := w.server.sets[name]; ok {
		return set, nil
	}
	return nil, notFound("statefulsets", name)
}

func (w *world) UpdateStatefulSetStatus(_ context.Context, set *apps.StatefulSet) error {
	live := w.server.sets[set.Name]
	if live.ResourceVersion != set.ResourceVersion {
		w.say("status: conflict")
		return apierrors.NewConflict(appsv1.Resource("statefulsets"), set.Name, errors.New("changed"))
	}
	set = set.DeepCopy()
	w.stamp(&set.ObjectMeta)
	w.server.sets[set.Name] = set
	w.say("%s", describe(set))
	return nil
}

func describe(set *apps.StatefulSet) string {
	s := set.Status
	line := fmt.Sprintf("status: replicas=%d ready=%d available=%d current=%d(%s) updated=%d(%s) generation=%d",
		s.Replicas, s.ReadyReplicas, s.AvailableReplicas, s.CurrentReplicas, s.CurrentRevision, s.UpdatedReplicas, s.UpdateRevision,
		s.ObservedGeneration)
	if s.CollisionCount != nil && *s.CollisionCount > 0 {
		line += fmt.Sprintf(" collisions=%d", *s.CollisionCount)
	}
	return line
}

func (w *world) Eventf(_ runtime.Object, eventtype, reason, format string, args ...any) {
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
	w.say("again in %v", d)
}
