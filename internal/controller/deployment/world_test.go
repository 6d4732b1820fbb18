package deployment

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
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
)

// objects are Deployments, ReplicaSets and pods.
type objects struct {
	deployments controllertest.Store[*apps.Deployment]
	sets        controllertest.Store[*apps.ReplicaSet]
	pods        controllertest.Store[*core.Pod]
}

func newObjects() objects {
	return objects{
		controllertest.Store[*apps.Deployment]{}, controllertest.Store[*apps.ReplicaSet]{}, controllertest.Store[*core.Pod]{},
	}
}

// world is a server, a cache that sees it at each sync, and a controller in between.
// What the controller does is collected as lines.
type world struct {
	*Controller
	server, cache objects
	now           *testclock.FakeClock
	version       int
	lines         []string
	refuse        error // answer to the creation of a set
	queued        map[string]bool
}

func newWorld() *world {
	w := &world{
		server:  newObjects(),
		cache:   newObjects(),
		now:     testclock.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		version: 100,
		queued:  map[string]bool{},
	}
	w.Controller = &Controller{
		deployments: w.cache.deployments, sets: w.cache.sets, pods: w.cache.pods,
		writeSet: w, writeStatus: w, live: w, events: w, clock: w.now, queue: w,
	}
	return w
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func (w *world) flush() string {
	if len(w.queued) > 0 {
		w.say("queue: %s", strings.Join(slices.Sorted(maps.Keys(w.queued)), " "))
		clear(w.queued)
	}
	if len(w.lines) == 0 {
		return "ok\n"
	}
	out := strings.Join(w.lines, "\n") + "\n"
	w.lines = nil
	return out
}

func (w *world) stamp(m *metav1.ObjectMeta) {
	w.version++
	m.Namespace, m.ResourceVersion = "default", strconv.Itoa(w.version)
	if m.UID == "" {
		m.UID = types.UID("uid-" + m.Name)
	}
	if m.CreationTimestamp.IsZero() {
		m.CreationTimestamp = metav1.NewTime(w.now.Now())
	}
}

// sync brings the cache up to the server and delivers the events.
func (w *world) sync() {
	w.cache.deployments.Follow(w.server.deployments, w.onDeployment)
	w.cache.sets.Follow(w.server.sets, w.onSet)
	w.cache.pods.Follow(w.server.pods, func(_, _ *core.Pod) {})
}

// label names a set by its template's image, as "web:v1".
func label(rs *apps.ReplicaSet) string {
	name, _, _ := strings.Cut(rs.Name, "-")
	return name + ":" + rs.Spec.Template.Spec.Containers[0].Image
}

// notFound and conflict are the answers to a write that comes too late.
func notFound(name string) error { return apierrors.NewNotFound(appsv1.Resource("replicasets"), name) }

func (w *world) CreateSet(_ context.Context, rs *apps.ReplicaSet) error {
	if w.refuse != nil {
		w.say("refused create %s", label(rs))
		return w.refuse
	}
	if _, taken := w.server.sets[rs.Name]; taken {
		w.say("create %s: exists", label(rs))
		return apierrors.NewAlreadyExists(appsv1.Resource("replicasets"), rs.Name)
	}
	rs = rs.DeepCopy()
	w.stamp(&rs.ObjectMeta)
	rs.Generation = 1
	w.server.sets[rs.Name] = rs
	w.say("create %s with %d, revision %s", label(rs), sizeOf(rs), rs.Annotations[revisionAnnotation])
	return nil
}

func (w *world) UpdateSet(_ context.Context, rs *apps.ReplicaSet) error {
	live := w.server.sets[rs.Name]
	if live == nil {
		return notFound(rs.Name)
	}
	if live.ResourceVersion != rs.ResourceVersion {
		w.say("update %s: conflict", label(rs))
		return apierrors.NewConflict(appsv1.Resource("replicasets"), rs.Name, errors.New("changed"))
	}
	var changes []string
	if from, to := sizeOf(live), sizeOf(rs); from != to {
		changes = append(changes, fmt.Sprintf("%d -> %d", from, to))
	}
	if live.Spec.MinReadySeconds != rs.Spec.MinReadySeconds {
		changes = append(changes, fmt.Sprintf("minReadySeconds=%d", rs.Spec.MinReadySeconds))
	}
	for _, key := range slices.Sorted(maps.Keys(rs.Annotations)) {
		if live.Annotations[key] != rs.Annotations[key] {
			changes = append(changes, strings.TrimPrefix(key, "deployment.kubernetes.io/")+"="+rs.Annotations[key])
		}
	}
	rs = rs.DeepCopy()
	w.stamp(&rs.ObjectMeta)
	rs.Generation++
	w.server.sets[rs.Name] = rs
	w.say("update %s: %s", label(rs), strings.Join(changes, ", "))
	return nil
}

func (w *world) PatchSet(_ context.Context, rs *apps.ReplicaSet, patch []byte) error {
	live := w.server.sets[rs.Name]
	if live == nil {
		return notFound(rs.Name)
	}
	patched, err := controllertest.Patched(live, patch)
	if err != nil {
		return err
	}
	w.stamp(&patched.ObjectMeta)
	w.server.sets[rs.Name] = patched
	var owners []string
	for _, ref := range patched.OwnerReferences {
		owners = append(owners, ref.Name)
	}
	w.say("patch %s: owners %v", label(rs), owners)
	return nil
}

func (w *world) DeleteSet(_ context.Context, rs *apps.ReplicaSet) error {
	w.say("delete %s", label(rs))
	delete(w.server.sets, rs.Name)
	return nil
}

func (w *world) UpdateDeploymentStatus(_ context.Context, d *apps.Deployment) error {
	live := w.server.deployments[d.Name]
	if live.ResourceVersion != d.ResourceVersion {
		w.say("status: conflict")
		return apierrors.NewConflict(appsv1.Resource("deployments"), d.Name, errors.New("changed"))
	}
	d = d.DeepCopy()
	w.stamp(&d.ObjectMeta)
	w.server.deployments[d.Name] = d
	w.say("%s", describe(live, d))
	return nil
}

// describe prints a status, and of the conditions those that differ from before.
func describe(before, after *apps.Deployment) string {
	s := after.Status
	line := fmt.Sprintf("status: replicas=%d updated=%d ready=%d available=%d unavailable=%d generation=%d",
		s.Replicas, s.UpdatedReplicas, s.ReadyReplicas, s.AvailableReplicas, s.UnavailableReplicas, s.ObservedGeneration)
	if s.TerminatingReplicas == nil || *s.TerminatingReplicas > 0 {
		line += fmt.Sprintf(" terminating=%v", deref(s.TerminatingReplicas))
	}
	if s.CollisionCount != nil {
		line += fmt.Sprintf(" collisions=%d", *s.CollisionCount)
	}
	if x, y := before.Annotations[revisionAnnotation], after.Annotations[revisionAnnotation]; x != y {
		line += " revision=" + y
	}
	for _, c := range s.Conditions {
		if old := condition(&before.Status, c.Type); old == nil || *old != c {
			line += fmt.Sprintf("\n  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
		}
	}
	for _, c := range before.Status.Conditions {
		if condition(&s, c.Type) == nil {
			line += fmt.Sprintf("\n  no %s", c.Type)
		}
	}
	return line
}

func deref(n *int32) string {
	if n == nil {
		return "unknown"
	}
	return strconv.Itoa(int(*n))
}

func (w *world) LiveDeployment(_ context.Context, _, name string) (*apps.Deployment, error) {
	if d, ok := w.server.deployments[name]; ok {
		return d, nil
	}
	return nil, apierrors.NewNotFound(appsv1.Resource("deployments"), name)
}

func (w *world) LiveSet(_ context.Context, _, name string) (*apps.ReplicaSet, error) {
	if rs, ok := w.server.sets[name]; ok {
		return rs, nil
	}
	return nil, notFound(name)
}

func (w *world) Eventf(_ runtime.Object, eventtype, reason, format string, args ...any) {
	if eventtype == corev1.EventTypeWarning {
		w.say("event %s", reason)
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
