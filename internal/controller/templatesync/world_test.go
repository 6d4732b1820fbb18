package templatesync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	testclock "k8s.io/utils/clock/testing"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
)

// world is a server, the caches behind it, and a controller that uses them.
type world struct {
	*Controller
	clock *testclock.FakePassiveClock
	log   []string
	last  int // the last resourceVersion

	namespaces map[string]*metav1.ObjectMeta
	originals  map[string]*allotv1alpha1.ClusterResourceClaimTemplate
	templates  map[string]*resourcev1.ResourceClaimTemplate // by namespace/name

	view           view // the content of the caches
	lags           bool // the caches do not follow
	due, dueStatus map[string]bool

	refused  map[string]bool   // contents that the server rejects
	broken   int               // number of requests that fail
	sound    int               // number of requests that succeed before these
	interval func(what string) // called between two writes of one step
}

type template = resourcev1.ResourceClaimTemplate

// view is the content of the caches.
type view struct {
	namespaces map[string]*metav1.ObjectMeta
	originals  map[string]*Original
	copies     map[string]*Copy
}

func newWorld() *world {
	w := &world{
		clock:      testclock.NewFakePassiveClock(time.Unix(0, 0)),
		namespaces: map[string]*metav1.ObjectMeta{}, originals: map[string]*allotv1alpha1.ClusterResourceClaimTemplate{},
		templates: map[string]*resourcev1.ResourceClaimTemplate{}, refused: map[string]bool{},
		view: view{map[string]*metav1.ObjectMeta{}, map[string]*Original{}, map[string]*Copy{}},
		due:  map[string]bool{}, dueStatus: map[string]bool{}, interval: func(string) {},
	}
	w.restart()
	return w
}

// restart starts another process, which knows only the caches.
func (w *world) restart() {
	w.Controller = newController(&w.view, w, w, w, nothing{}, w.clock)
	w.queue, w.statuses = queue{w.due}, queue{w.dueStatus}
	for name := range w.view.namespaces {
		w.due[name] = true
	}
	for name := range w.view.originals {
		w.dueStatus[name] = true
	}
}

// queue has each key once; delayed keys are due immediately, which must do no harm.
type queue struct{ due map[string]bool }

func (q queue) Add(key string)                       { q.due[key] = true }
func (q queue) AddAfter(key string, _ time.Duration) { q.due[key] = true }

type nothing struct{}

func (nothing) Wrote(string, bool)                 {}
func (nothing) Stands(string, int32, int32, int32) {}
func (nothing) Gone(string)                        {}
func (nothing) Synced(time.Duration)               {}

func (w *world) say(format string, args ...any) { w.log = append(w.log, fmt.Sprintf(format, args...)) }

func (w *world) flush() string {
	text := strings.Join(w.log, "\n")
	w.log = nil
	if text == "" {
		return "nothing\n"
	}
	return text + "\n"
}

func (w *world) version() string {
	w.last++
	return strconv.Itoa(w.last)
}

func (w *world) stamp(m *metav1.ObjectMeta) {
	m.ResourceVersion = w.version()
	if m.UID == "" {
		m.UID = types.UID("uid-" + m.ResourceVersion)
		m.CreationTimestamp = metav1.NewTime(time.Unix(int64(w.last), 0))
	}
}

// follow makes the caches equal to the server, and informs the controller of each difference.
func (w *world) follow() {
	if w.lags {
		return
	}
	follow(w.view.namespaces, w.namespaces, w.onNamespace,
		func(m *metav1.ObjectMeta) *metav1.ObjectMeta { return m.DeepCopy() })
	follow(w.view.originals, w.originals, w.onOriginal, func(t *allotv1alpha1.ClusterResourceClaimTemplate) *Original {
		o, err := NewOriginal(t.DeepCopy())
		if err != nil {
			panic(err)
		}
		return o
	})
	follow(w.view.copies, w.templates, w.onCopy,
		func(t *resourcev1.ResourceClaimTemplate) *Copy { return NewCopy(&t.ObjectMeta) })
}

func follow[S, C metav1.Object](cached map[string]C, server map[string]S, tell func(before, after C), read func(S) C) {
	var none C
	for _, key := range slices.Sorted(maps.Keys(server)) {
		before, ok := cached[key]
		if ok && before.GetResourceVersion() == server[key].GetResourceVersion() {
			continue
		}
		cached[key] = read(server[key])
		tell(before, cached[key])
	}
	for _, key := range slices.Sorted(maps.Keys(cached)) {
		if before := cached[key]; !has(server, key) {
			delete(cached, key)
			tell(before, none)
		}
	}
}

func has[T any](m map[string]T, key string) bool {
	_, ok := m[key]
	return ok
}

// work reconciles until no key is due, except for keys that wait for the caches or for time.
func (w *world) work() {
	w.follow()
	for range 10 {
		for _, name := range take(w.due) {
			if err := w.Reconcile(context.Background(), name); err != nil {
				w.due[name] = true
			}
			w.follow()
		}
		for _, name := range take(w.dueStatus) {
			if err := w.ReconcileStatus(context.Background(), name); err != nil {
				w.dueStatus[name] = true
			}
			w.follow()
		}
	}
}

func take(due map[string]bool) []string {
	names := slices.Sorted(maps.Keys(due))
	clear(due)
	return names
}

func (w *world) takeFailure(name string) error {
	if w.sound > 0 {
		w.sound--
		return nil
	}
	if w.broken == 0 {
		return nil
	}
	w.broken--
	w.say("fail %s", name)
	return apierrors.NewInternalError(errors.New("no luck"))
}

func contentOf(t *resourcev1.ResourceClaimTemplate) string {
	return t.Spec.Spec.Devices.Requests[0].Exactly.DeviceClassName
}

// Create implements the server.
func (w *world) Create(ctx context.Context, t *resourcev1.ResourceClaimTemplate, dryRun bool) (metav1.Object, error) {
	key := t.Namespace + "/" + t.Name
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if dryRun {
		w.say("ask in %s: %s", t.Namespace, contentOf(t))
	}
	if err := w.takeFailure(key); err != nil {
		return nil, err
	}
	w.interval("create " + key)
	resource := resourcev1.Resource("resourceclaimtemplates")
	namespace := w.namespaces[t.Namespace]
	switch {
	case namespace == nil:
		return nil, apierrors.NewNotFound(resource, t.Namespace)
	case namespace.DeletionTimestamp != nil:
		err := apierrors.NewForbidden(resource, t.Name, errors.New("it is being deleted"))
		err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{Type: "NamespaceTerminating"})
		return nil, err
	case w.refused[contentOf(t)]:
		return nil, apierrors.NewInvalid(resourcev1.SchemeGroupVersion.WithKind(templateKind).GroupKind(), "x", nil)
	case w.templates[key] != nil: // after all other checks, as a real server does
		if !dryRun {
			w.say("taken: %s", key)
		}
		return nil, apierrors.NewAlreadyExists(resource, t.Name)
	case dryRun:
		return t, nil
	}
	t = t.DeepCopy()
	t.ManagedFields = managed(FieldManager)
	w.stamp(&t.ObjectMeta)
	w.templates[key] = t
	w.say("create %s: %s", key, describe(t))
	return t, nil
}

func managed(by string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{
		{Manager: by, FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{},"f:spec":{"f:spec":{}}}`)},
	}
}

func describe(t *resourcev1.ResourceClaimTemplate) string {
	return contentOf(t) + " of " + t.Labels[Label]
}

// unchangedCopy returns the object that the controller has read, if it has not changed since.
func (w *world) unchangedCopy(c *Copy) (string, *resourcev1.ResourceClaimTemplate, error) {
	key := c.Namespace + "/" + c.Name
	t := w.templates[key]
	switch {
	case t == nil:
		w.say("not there: %s", key)
		return key, nil, apierrors.NewNotFound(resourcev1.Resource("resourceclaimtemplates"), c.Name)
	case len(t.Labels)+len(t.Annotations)+len(t.OwnerReferences) == 0 && t.ResourceVersion == c.ResourceVersion:
		panic("the controller writes to " + key + ", which bears no mark")
	case t.UID != c.UID || t.ResourceVersion != c.ResourceVersion:
		w.say("changed: %s", key)
		return key, nil, apierrors.NewConflict(resourcev1.Resource("resourceclaimtemplates"), c.Name, nil)
	}
	return key, t, w.takeFailure(key)
}

// Repair implements the server.
func (w *world) Repair(_ context.Context, c *Copy, marks metav1.ObjectMeta) error {
	key, t, err := w.unchangedCopy(c)
	if err != nil {
		return err
	}
	t = t.DeepCopy()
	t.Labels, t.Annotations, t.OwnerReferences = marks.Labels, marks.Annotations, marks.OwnerReferences
	w.stamp(&t.ObjectMeta)
	w.templates[key] = t
	w.say("repair %s: %s", key, describe(t))
	return nil
}

// Delete implements the server.
func (w *world) Delete(_ context.Context, c *Copy) error {
	key, t, err := w.unchangedCopy(c)
	if err != nil {
		return err
	}
	w.say("delete %s: %s", key, describe(t))
	w.interval("delete " + key)
	if w.templates[key] != t { // another writer was faster
		_, _, err := w.unchangedCopy(c)
		return err
	}
	w.remove(key)
	return nil
}

func (w *world) remove(key string) {
	t := w.templates[key]
	if len(t.Finalizers) == 0 {
		delete(w.templates, key)
		return
	}
	t = t.DeepCopy()
	t.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	w.stamp(&t.ObjectMeta)
	w.templates[key] = t
}

// collectGarbage deletes the copies of deleted originals, as the garbage collector does.
func (w *world) collectGarbage() {
	for _, key := range slices.Sorted(maps.Keys(w.templates)) {
		owner := metav1.GetControllerOf(w.templates[key])
		if owner == nil {
			continue
		}
		if o := w.originals[owner.Name]; o == nil || o.UID != owner.UID {
			w.say("collect %s", key)
			delete(w.templates, key)
		}
	}
}

// WriteStatus implements the server.
func (w *world) WriteStatus(
	_ context.Context, o *Original, status allotv1alpha1.ClusterResourceClaimTemplateStatus,
) error {
	live := w.originals[o.Name]
	if live == nil || live.UID != o.UID {
		return apierrors.NewConflict(allotv1alpha1.ClusterResourceClaimTemplates.GroupResource(), o.Name, nil)
	}
	live = live.DeepCopy()
	live.Status = status
	live.ResourceVersion = w.version()
	w.originals[o.Name] = live
	return nil
}

// Eventf implements the event recorder.
func (w *world) Eventf(_ runtime.Object, kind, reason, format string, args ...any) {
	w.say("event %s %s: %s", kind, reason, fmt.Sprintf(format, args...))
}

func (v *view) Namespace(name string) (*metav1.ObjectMeta, bool) {
	m, ok := v.namespaces[name]
	return m, ok
}

func (v *view) Namespaces() []*metav1.ObjectMeta { return slices.Collect(maps.Values(v.namespaces)) }

func (v *view) Originals() []*Original { return slices.Collect(maps.Values(v.originals)) }

func (v *view) Copy(namespace, name string) (*Copy, bool) {
	c, ok := v.copies[namespace+"/"+name]
	return c, ok
}

func (v *view) CopiesIn(namespace string) []*Copy {
	var found []*Copy
	for _, c := range v.copies {
		if c.Namespace == namespace {
			found = append(found, c)
		}
	}
	return found
}
