package garbagecollector

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/controller/kinds"
)

// world is a server with objects of four kinds, and a garbage collector that receives its events
// when they are delivered. Requests to the server are recorded as lines.
type world struct {
	*Controller
	stored  map[string]*Object // by path: kind/namespace/name
	events  []func()           // not delivered yet
	queued  map[types.UID]bool
	version int
	lines   []string
	refuse  map[string]error // verb → response, once
}

var allKinds = []kinds.Kind{
	kindOf("", "pods", "Pod", true), kindOf("", "configmaps", "ConfigMap", true),
	kindOf("", "nodes", "Node", false), kindOf("example.com", "things", "Thing", true),
}

func kindOf(group, resource, kind string, namespaced bool) kinds.Kind {
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	return kinds.Kind{Resource: gv.WithResource(resource), Kind: gv.WithKind(kind), Namespaced: namespaced}
}

// kindNamed returns a kind by its singular, as in paths.
func kindNamed(t *testing.T, name string) kinds.Kind {
	for _, k := range allKinds {
		if strings.EqualFold(k.Kind.Kind, name) {
			return k
		}
	}
	t.Fatalf("no kind %q", name)
	return kinds.Kind{}
}

func newWorld() *world {
	w := &world{stored: map[string]*Object{}, queued: map[types.UID]bool{}, refuse: map[string]error{}}
	w.Controller = newController(w, w)
	w.Controller.queue = w
	w.parallel = 1 // so that requests have one order
	w.graph.SetKinds(allKinds)
	return w
}

func (w *world) say(format string, args ...any) {
	w.lines = append(w.lines, fmt.Sprintf(format, args...))
}

func pathOf(o *Object) string {
	return strings.ToLower(o.Kind.Kind) + "/" + o.Namespace + "/" + o.Name
}

func (w *world) Add(uid types.UID)                       { w.queued[uid] = true }
func (w *world) AddAfter(uid types.UID, _ time.Duration) { w.Add(uid) }

func (w *world) Eventf(object runtime.Object, _, reason, format string, args ...any) {
	ref := object.(*corev1.ObjectReference)
	w.say("event on %s/%s/%s %s: %s", strings.ToLower(ref.Kind), ref.Namespace, ref.Name, reason,
		fmt.Sprintf(format, args...))
}

// put stores an object and queues its event.
func (w *world) put(o *Object) {
	w.version++
	o.ResourceVersion = strconv.Itoa(w.version)
	if o.Deleting && len(o.Finalizers) == 0 {
		w.remove(o)
		return
	}
	before := w.stored[pathOf(o)]
	w.stored[pathOf(o)] = o
	w.events = append(w.events, func() { w.onEvent(o.Kind, metaOf(before), metaOf(o)) })
}

func (w *world) remove(o *Object) {
	delete(w.stored, pathOf(o))
	w.say("  gone %s", pathOf(o))
	w.events = append(w.events, func() { w.onEvent(o.Kind, metaOf(o), nil) })
}

// metaOf returns o as an informer delivers it.
func metaOf(o *Object) metav1.Object {
	if o == nil {
		return nil
	}
	meta := &metav1.ObjectMeta{
		Namespace: o.Namespace, Name: o.Name, UID: o.UID, ResourceVersion: o.ResourceVersion,
		OwnerReferences: o.Owners, Finalizers: o.Finalizers,
	}
	if o.Deleting {
		meta.DeletionTimestamp = &metav1.Time{}
	}
	return meta
}

func (w *world) find(kind kinds.Kind, namespace, name string) (*Object, error) {
	o, ok := w.stored[strings.ToLower(kind.Kind.Kind)+"/"+namespace+"/"+name]
	if !ok {
		return nil, apierrors.NewNotFound(kind.Resource.GroupResource(), name)
	}
	return o, nil
}

// takeRefusal returns the rejection that was set for a verb, and removes it.
func (w *world) takeRefusal(verb string) error {
	err := w.refuse[verb]
	delete(w.refuse, verb)
	return err
}

func (w *world) Live(_ context.Context, kind kinds.Kind, namespace, name string) (*Object, error) {
	w.say("get %s/%s/%s", strings.ToLower(kind.Kind.Kind), namespace, name)
	if err := w.takeRefusal("get"); err != nil {
		return nil, err
	}
	return w.find(kind, namespace, name)
}

func conflict(o *Object) error {
	return apierrors.NewConflict(schema.GroupResource{Resource: o.Kind.Kind}, o.Name, errors.New("changed"))
}

func (w *world) Delete(_ context.Context, kind kinds.Kind, o *Object, policy metav1.DeletionPropagation) error {
	w.say("delete %s %s", pathOf(o), policy)
	if err := w.takeRefusal("delete"); err != nil {
		return err
	}
	live, err := w.find(kind, o.Namespace, o.Name)
	if err != nil {
		return err
	}
	if live.ResourceVersion != o.ResourceVersion || live.UID != o.UID {
		w.say("  conflict")
		return conflict(o)
	}
	w.delete(live, policy)
	return nil
}

// delete changes the finalizers of the deletion propagation as the API server does.
func (w *world) delete(o *Object, policy metav1.DeletionPropagation) {
	next := *o
	next.Deleting = true
	next.Finalizers = slices.DeleteFunc(slices.Clone(o.Finalizers), func(f string) bool {
		return f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
	switch policy {
	case metav1.DeletePropagationForeground:
		next.Finalizers = append(next.Finalizers, metav1.FinalizerDeleteDependents)
	case metav1.DeletePropagationOrphan:
		next.Finalizers = append(next.Finalizers, metav1.FinalizerOrphanDependents)
	}
	w.put(&next)
}

func (w *world) Patch(_ context.Context, kind kinds.Kind, o *Object, text []byte) error {
	var patch struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
	}
	var raw map[string]map[string]any
	if err := errors.Join(json.Unmarshal(text, &patch), json.Unmarshal(text, &raw)); err != nil {
		return err
	}
	live, err := w.find(kind, o.Namespace, o.Name)
	if err != nil {
		w.say("patch %s: not found", pathOf(o))
		return err
	}
	if live.UID != patch.Metadata.UID || live.ResourceVersion != patch.Metadata.ResourceVersion {
		w.say("patch %s: conflict", pathOf(o))
		return conflict(o)
	}
	next := *live
	if _, ok := raw["metadata"]["ownerReferences"]; ok {
		next.Owners = patch.Metadata.OwnerReferences
		w.say("patch %s owners=%s", pathOf(o), ownersText(next.Owners))
	}
	if _, ok := raw["metadata"]["finalizers"]; ok {
		next.Finalizers = patch.Metadata.Finalizers
		w.say("patch %s finalizers=%v", pathOf(o), next.Finalizers)
	}
	w.put(&next)
	return nil
}

func ownersText(refs []metav1.OwnerReference) string {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = strings.ToLower(ref.Kind) + "/" + ref.Name
		if ref.BlockOwnerDeletion != nil && *ref.BlockOwnerDeletion {
			names[i] += "!"
		}
	}
	return "[" + strings.Join(names, " ") + "]"
}

func (w *world) deliver() {
	events := w.events
	w.events = nil
	for _, event := range events {
		event()
	}
}

// settle delivers events and reconciles until nothing is left.
func (w *world) settle(t *testing.T) {
	for range 100 {
		w.deliver()
		if len(w.queued) == 0 {
			return
		}
		w.reconcile()
	}
	t.Fatal("no end")
}

// reconcile processes the queue once, in the order of UIDs.
func (w *world) reconcile() {
	uids := slices.SortedFunc(maps.Keys(w.queued), cmp.Compare[types.UID])
	clear(w.queued)
	for _, uid := range uids {
		if err := w.Reconcile(context.Background(), uid); err != nil {
			w.say("error: %v", err)
			w.queued[uid] = true
		}
	}
}

func (w *world) flush() string {
	if len(w.lines) == 0 {
		return "ok\n"
	}
	out := strings.Join(w.lines, "\n") + "\n"
	w.lines = nil
	return out
}
