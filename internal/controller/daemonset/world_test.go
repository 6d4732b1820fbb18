package daemonset

import (
	"context"
	"errors"
	"fmt"
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

// objects are what a DaemonSet has to do with.
type objects struct {
	sets      controllertest.Store[*apps.DaemonSet]
	nodes     controllertest.Store[*corev1.Node]
	pods      controllertest.Store[*core.Pod]
	revisions controllertest.Store[*appsv1.ControllerRevision]
}

func newObjects() objects {
	return objects{
		controllertest.Store[*apps.DaemonSet]{}, controllertest.Store[*corev1.Node]{},
		controllertest.Store[*core.Pod]{}, controllertest.Store[*appsv1.ControllerRevision]{},
	}
}

// world is a server, a cache that sees it at each sync, and a controller in between. What the
// controller does is collected as lines.
type world struct {
	wire *controllertest.Wire
	*Controller
	*controllertest.Journal
	server, cache objects

	made   map[string]int    // pods, by node
	hashes map[string]string // of the revisions there have been, to the image of their template
}

func newWorld() *world {
	w := &world{
		Journal: controllertest.NewJournal(gatherWindow),
		server:  newObjects(),
		cache:   newObjects(),
		made:    map[string]int{},
		hashes:  map[string]string{},
	}
	w.wire = controllertest.NewWire(w)
	c := &Controller{
		sets: w.cache.sets, nodes: w.cache.nodes, pods: workload.NewPods(w.cache.pods, w.wire, w, w.Now),
		revisions:     w.cache.revisions,
		writeSet:      w,
		writeRevision: controllertest.Revisions{Store: w.server.revisions, Stamp: w.Stamp, Say: w.Say},
		events:        w, clock: w.Now, queue: w, backoff: newBackoff(),
	}
	w.Controller = c
	return w
}

// sync brings the cache up to the server and delivers the events.
func (w *world) sync() {
	w.cache.sets.Follow(w.server.sets, w.onSet)
	w.cache.nodes.Follow(w.server.nodes, w.onNode)
	w.cache.revisions.Follow(w.server.revisions, func(_, _ *appsv1.ControllerRevision) {})
	w.cache.pods.Follow(w.server.pods, w.onPod)
}

// flush returns the collected lines, in which revisions are named by the image of their template.
func (w *world) flush() string { return w.readable(w.Flush()) }

// readable replaces the hashes of revisions.
func (w *world) readable(text string) string {
	for _, r := range w.server.revisions {
		if template, err := history.Template(r); err == nil {
			w.hashes[history.Hash(r, hashLabel)] = template.Spec.Containers[0].Image
		}
	}
	for hash, image := range w.hashes {
		text = strings.ReplaceAll(text, hash, image)
	}
	return text
}

func notFound(resource, name string) error {
	return apierrors.NewNotFound(corev1.Resource(resource), name)
}

// CreatePod names pods by their node, so that scenarios are readable: agent-n1-1.
func (w *world) CreatePod(_ context.Context, pod *core.Pod) (*core.Pod, error) {
	w.Mu.Lock()
	defer w.Mu.Unlock()
	node, _ := nodeOf(pod)
	if err := w.Refuse["create"]; err != nil {
		w.Say("refused create of a pod")
		return nil, err
	}
	w.made[node]++
	pod = pod.DeepCopy()
	pod.Name = fmt.Sprintf("%s%s-%d", pod.GenerateName, node, w.made[node])
	pod.Status.Phase = corev1.PodPending
	w.Stamp(&pod.ObjectMeta)
	w.server.pods[pod.Name] = pod
	w.Say("create pod %s at %s", pod.Name, pod.Labels[hashLabel])
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
	if !ok {
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

func (w *world) LiveDaemonSet(_ context.Context, _, name string) (*apps.DaemonSet, error) {
	if set, ok := w.server.sets[name]; ok {
		return set, nil
	}
	return nil, notFound("daemonsets", name)
}

func (w *world) UpdateDaemonSetStatus(_ context.Context, set *apps.DaemonSet) error {
	live := w.server.sets[set.Name]
	if live.ResourceVersion != set.ResourceVersion {
		w.Say("status: conflict")
		return apierrors.NewConflict(appsv1.Resource("daemonsets"), set.Name, errors.New("changed"))
	}
	set = set.DeepCopy()
	w.Stamp(&set.ObjectMeta)
	w.server.sets[set.Name] = set
	w.Say("%s", describe(set))
	return nil
}

func describe(set *apps.DaemonSet) string {
	s := set.Status
	line := fmt.Sprintf(
		"status: desired=%d current=%d misscheduled=%d ready=%d updated=%d available=%d unavailable=%d generation=%d",
		s.DesiredNumberScheduled,
		s.CurrentNumberScheduled,
		s.NumberMisscheduled,
		s.NumberReady,
		s.UpdatedNumberScheduled,
		s.NumberAvailable,
		s.NumberUnavailable,
		s.ObservedGeneration,
	)
	if s.CollisionCount != nil {
		line += fmt.Sprintf(" collisions=%d", *s.CollisionCount)
	}
	return line
}
