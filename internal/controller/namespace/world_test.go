package namespace

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"

	"github.com/allot-dev/allot/internal/controller/kinds"
)

// world is a server with one namespace and objects by resource, and a controller.
type world struct {
	*Controller
	ns      *corev1.Namespace
	content map[string][]metav1.PartialObjectMetadata
	refused map[string]error // resource → error of its deletion
	broken  error            // of discovery
	now     *testclock.FakePassiveClock

	mu    sync.Mutex
	lines []string
}

func newWorld() *world {
	gone := metav1.NewTime(time.Unix(1000, 0))
	w := &world{
		ns: &corev1.Namespace{
			ObjectMeta: metav1.ObjectMeta{Name: "x", DeletionTimestamp: &gone},
			Spec:       corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes, "example.com/own"}},
			Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating},
		},
		content: map[string][]metav1.PartialObjectMetadata{},
		refused: map[string]error{},
		now:     testclock.NewFakePassiveClock(time.Unix(1000, 0)),
	}
	w.Controller = &Controller{
		namespaces: w, writer: namespaces{w}, objects: w, discovery: w, clock: w.now, queue: w,
		waits: map[string]time.Duration{},
	}
	return w
}

func (w *world) say(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

// reconcile returns the recorded requests. Concurrent ones are sorted.
func (w *world) reconcile() ([]string, error) {
	err := w.Reconcile(context.Background(), "x")
	lines := w.lines
	w.lines = nil
	slices.Sort(lines)
	return lines, err
}

// add adds an object to the namespace.
func (w *world) add(resource, name string, finalizers ...string) {
	w.content[resource] = append(w.content[resource], metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: name, Finalizers: finalizers},
	})
}

func (w *world) Get(_, name string) (*corev1.Namespace, bool) {
	return w.ns, w.ns != nil && w.ns.Name == name
}

type namespaces struct{ *world }

func (n namespaces) UpdateStatus(_ context.Context, ns *corev1.Namespace) error {
	n.say("status")
	n.ns = ns.DeepCopy()
	return nil
}

func (n namespaces) Finalize(_ context.Context, ns *corev1.Namespace) error {
	n.say("finalize %v", ns.Spec.Finalizers)
	n.ns = ns.DeepCopy()
	return nil
}

func (w *world) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	all := metav1.Verbs{"list", "delete", "deletecollection"}
	return []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: all},
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: all},
			{Name: "nodes", Kind: "Node", Verbs: all},
		}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{
			{Name: "things", Kind: "Thing", Namespaced: true, Verbs: metav1.Verbs{"list", "delete"}},
			{Name: "unlistable", Kind: "Unlistable", Namespaced: true, Verbs: metav1.Verbs{"delete"}},
		}},
	}, w.broken
}

func (w *world) List(_ context.Context, kind kinds.Kind, namespace string) ([]metav1.PartialObjectMetadata, error) {
	if namespace != "x" || !kind.Has("list") {
		return nil, errors.New("unexpected list")
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.content[kind.Resource.Resource]), nil
}

// remove marks pods and objects with finalizers as being deleted, because pods terminate
// gracefully, and removes all others.
func (w *world) remove(kind kinds.Kind, which func(name string) bool) error {
	resource := kind.Resource.Resource
	if err := w.refused[resource]; err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var left []metav1.PartialObjectMetadata
	for _, o := range w.content[resource] {
		if which(o.Name) && len(o.Finalizers) == 0 && resource != "pods" {
			continue
		}
		if which(o.Name) {
			now := metav1.NewTime(w.now.Now())
			o.DeletionTimestamp = &now
		}
		left = append(left, o)
	}
	w.content[resource] = left
	return nil
}

func (w *world) DeleteAll(_ context.Context, kind kinds.Kind, _ string) error {
	w.say("delete all %s", kind.Resource.Resource)
	return w.remove(kind, func(string) bool { return true })
}

func (w *world) Delete(_ context.Context, kind kinds.Kind, _, name string) error {
	w.say("delete %s/%s", kind.Resource.Resource, name)
	return w.remove(kind, func(n string) bool { return n == name })
}

func (w *world) Add(name string)                          { w.say("queue %s", name) }
func (w *world) AddAfter(name string, wait time.Duration) { w.say("%s again in %v", name, wait) }
