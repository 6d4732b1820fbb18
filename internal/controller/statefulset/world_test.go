package statefulset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/controller/controllertest"
	"github.com/allot-dev/allot/internal/controller/history"
	"github.com/allot-dev/allot/internal/controller/workload"
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

// world is a server, a cache that sees it at each sync, and a controller in between. What the
// controller does is collected as lines.
type world struct {
	wire *controllertest.Wire
	*Controller
	*controllertest.Journal
	server, cache objects

	images map[string]string // of the revisions there have been, by name
}

func newWorld() *world {
	w := &world{
		Journal: controllertest.NewJournal(gatherWindow),
		server:  newObjects(),
		cache:   newObjects(),
		images:  map[string]string{},
	}
	w.wire = controllertest.NewWire(w)
	c := &Controller{
		sets: w.cache.sets, pods: workload.NewPods(w.cache.pods, w.wire, w, w.Now), claims: w.cache.claims,
		revisions: w.cache.revisions,
		writeSet:  w, writeClaim: w,
		writeRevision: controllertest.Revisions{Store: w.server.revisions, Stamp: w.Stamp, Say: w.Say},
		events:        w, clock: w.Now, queue: w,
	}
	w.Controller = c
	return w
}

// sync brings the cache up to the server and delivers the events.
func (w *world) sync() {
	w.cache.sets.Follow(w.server.sets, w.onSet)
	w.cache.claims.Follow(w.server.claims, w.onClaim)
	w.cache.revisions.Follow(w.server.revisions, func(_, _ *appsv1.ControllerRevision) {})
	w.cache.pods.Follow(w.server.pods, w.onPod)
}

// flush returns the collected lines, in which revisions are named by the image of their template.
func (w *world) flush() string { return w.readable(w.Flush()) }

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
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if err := w.Refuse["create"]; err != nil {
		w.Say("refused create of pod %s", pod.Name)
		return nil, err
	}
	if _, taken := w.server.pods[pod.Name]; taken {
		w.Say("create pod %s: exists", pod.Name)
		return nil, apierrors.NewAlreadyExists(corev1.Resource("pods"), pod.Name)
	}
	pod = pod.DeepCopy()
	pod.Status.Phase = corev1.PodPending
	w.Stamp(&pod.ObjectMeta)
	w.server.pods[pod.Name] = pod
	w.Say("create pod %s at %s", pod.Name, revisionOf(pod))
	return pod, nil
}

func (w *world) LivePods(_ context.Context, _ string, selector labels.Selector) ([]*core.Pod, error) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	w.Say("list pods")
	return w.server.pods.Matching(selector), nil
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
	w.Stamp(&patched.ObjectMeta)
	w.server.pods[pod.Name] = patched
	if !maps.Equal(live.Labels, patched.Labels) {
		w.Say("label pod %s: %v", pod.Name, patched.Labels)
		return nil
	}
	w.Say("patch pod %s: owners %v", pod.Name, controllertest.Owners(patched))
	return nil
}

func (w *world) DeletePod(_ context.Context, pod *core.Pod) error {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if err := w.Refuse["delete"]; err != nil {
		w.Say("refused delete of pod %s", pod.Name)
		return err
	}
	live, ok := w.server.pods[pod.Name]
	if !ok || live.UID != pod.UID {
		w.Say("delete pod %s: not found", pod.Name)
		return notFound("pods", pod.Name)
	}
	w.Say("delete pod %s", pod.Name)
	live = live.DeepCopy()
	now := metav1.NewTime(w.Now.Now())
	live.DeletionTimestamp = &now
	w.Stamp(&live.ObjectMeta)
	w.server.pods[pod.Name] = live
	return nil
}

func (w *world) CreateClaim(_ context.Context, claim *corev1.PersistentVolumeClaim) error {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	if err := w.Refuse["create-claim"]; err != nil {
		w.Say("refused create of claim %s", claim.Name)
		return err
	}
	if _, taken := w.server.claims[claim.Name]; taken {
		w.Say("create claim %s: exists", claim.Name)
		return apierrors.NewAlreadyExists(corev1.Resource("persistentvolumeclaims"), claim.Name)
	}
	claim = claim.DeepCopy()
	w.Stamp(&claim.ObjectMeta)
	w.server.claims[claim.Name] = claim
	w.Say("create claim %s %s", claim.Name, describeClaim(claim))
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
	w.Stamp(&claim.ObjectMeta)
	w.server.claims[claim.Name] = claim
	w.Say("update claim %s: %s", claim.Name, describeClaim(claim))
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
		w.Say("status: conflict")
		return apierrors.NewConflict(appsv1.Resource("statefulsets"), set.Name, errors.New("changed"))
	}
	set = set.DeepCopy()
	w.Stamp(&set.ObjectMeta)
	w.server.sets[set.Name] = set
	w.Say("%s", describe(set))
	return nil
}

func describe(set *apps.StatefulSet) string {
	s := set.Status
	line := fmt.Sprintf(
		"status: replicas=%d ready=%d available=%d current=%d(%s) updated=%d(%s) generation=%d",
		s.Replicas,
		s.ReadyReplicas,
		s.AvailableReplicas,
		s.CurrentReplicas,
		s.CurrentRevision,
		s.UpdatedReplicas,
		s.UpdateRevision,
		s.ObservedGeneration,
	)
	if s.CollisionCount != nil && *s.CollisionCount > 0 {
		line += fmt.Sprintf(" collisions=%d", *s.CollisionCount)
	}
	return line
}
