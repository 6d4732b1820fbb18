package controllertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object is an object of an API.
type Object interface {
	comparable
	metav1.Object
	runtime.Object
}

// Kind has the objects of one kind: on the server, whose requests it implements, and in the cache.
type Kind[T Object] struct {
	Server, Cache Store[T]
	// OnChange handles a change of the cache.
	OnChange func(before, after T)

	// Name returns the name of a new object. By default it is the prefix with a number.
	Name func(obj T) string
	// Complete sets what the server sets in a new object.
	Complete func(obj T)
	// Label returns how an object is called in lines. By default it is its name.
	Label func(obj T) string
	// Texts return the end of a line, by its verb: that of a request, "status" or "list".
	Texts map[string]func(before, after T) string
	// Graceful reports whether an object that is deleted is there until it has ended.
	Graceful func(obj T) bool
	// Order sorts the objects of "list". By default they are sorted by name.
	Order func(a, b T) int
	// Reads has each read of an object printed.
	Reads bool
	// Lossy kinds are those whose responses the verb "lose" is about.
	Lossy bool

	s        *Scenario
	word     string // the kind in verbs and lines
	resource schema.GroupResource
	made     map[string]int // created objects, by prefix
}

// NewKind adds a kind to the scenario, under a word for its verbs and lines. Caches follow the
// server in the order of the kinds.
func NewKind[T Object](s *Scenario, word string, resource schema.GroupResource) *Kind[T] {
	k := &Kind[T]{
		Server: Store[T]{}, Cache: Store[T]{}, OnChange: func(_, _ T) {},
		Complete: func(T) {}, Label: T.GetName, Graceful: func(T) bool { return false },
		Order: func(_, _ T) int { return 0 },
		s:     s, word: word, resource: resource, made: map[string]int{},
	}
	k.Name = func(obj T) string {
		k.made[obj.GetGenerateName()]++
		return obj.GetGenerateName() + strconv.Itoa(k.made[obj.GetGenerateName()])
	}
	s.kinds = append(s.kinds, k)
	return k
}

func (k *Kind[T]) isCalled(word string) bool { return k.word == word }

func (k *Kind[T]) follow() { k.Cache.Follow(k.Server, k.OnChange) }

func (k *Kind[T]) remove(name string) { delete(k.Server, name) }

func (k *Kind[T]) list() {
	for _, obj := range slices.SortedStableFunc(slices.Values(k.Server.List()), k.Order) {
		k.s.Record("%s%s", k.Label(obj), k.text("list", obj, obj))
	}
}

// Edit returns a copy of the object, or create's result if the server does not have it.
func (k *Kind[T]) Edit(name string, create func() T) T {
	if live, ok := k.Server[name]; ok {
		return live.DeepCopyObject().(T)
	}
	obj := create()
	obj.SetName(name)
	return obj
}

// Put stores an object, with a new version.
func (k *Kind[T]) Put(obj T) {
	k.s.stamp(obj)
	k.Server[obj.GetName()] = obj
}

func (k *Kind[T]) text(verb string, before, after T) string {
	if text := k.Texts[verb]; text != nil {
		return text(before, after)
	}
	if verb == "patch" {
		return fmt.Sprintf(": owners %v", Owners(after))
	}
	return ""
}

// subject returns the beginning of a line about a request.
func (k *Kind[T]) subject(verb string, obj T) string {
	label := k.Label(obj)
	if label == "" {
		label = obj.GetGenerateName()
	}
	if verb == "status" {
		return "status " + label
	}
	return verb + " " + k.word + " " + label
}

// recordRequest prints a request that was carried out.
func (k *Kind[T]) recordRequest(verb string, before, after T) {
	k.s.Record("%s%s", k.subject(verb, after), k.text(verb, before, after))
}

func (k *Kind[T]) notFound(name string) error { return apierrors.NewNotFound(k.resource, name) }

// refusal returns the error with which requests of a verb are refused, after it is printed.
func (k *Kind[T]) refusal(verb string, obj T) error {
	err := k.s.refuse[verb+" "+k.word]
	if err != nil {
		k.s.Record("refused: %s", k.subject(verb, obj))
	}
	return err
}

// response returns an error if the response of a request is lost.
func (k *Kind[T]) response(verb string) error {
	if k.Lossy && k.s.lost[verb] {
		return errors.New("connection reset by peer")
	}
	return nil
}

// live returns the object that a request is for. A version that is not "" must be its own.
func (k *Kind[T]) live(verb string, obj T, version string) (T, error) {
	live, ok := k.Server[obj.GetName()]
	switch {
	case !ok:
		k.s.Record("%s: not found", k.subject(verb, obj))
		return live, k.notFound(obj.GetName())
	case live.GetUID() != obj.GetUID() || version != "" && version != live.GetResourceVersion():
		k.s.Record("%s: conflict", k.subject(verb, obj))
		return live, apierrors.NewConflict(k.resource, obj.GetName(), errors.New("changed"))
	}
	return live, nil
}

// Live implements objects.Reader.
func (k *Kind[T]) Live(_ context.Context, _, name string) (T, error) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if k.Reads {
		k.s.Record("get %s %s", k.word, name)
	}
	var none T
	if err := k.s.refuse["get "+k.word]; err != nil {
		return none, err
	}
	if obj, ok := k.Server[name]; ok {
		return obj, nil
	}
	return none, k.notFound(name)
}

// LiveMatching implements objects.Selector.
func (k *Kind[T]) LiveMatching(_ context.Context, _ string, selector labels.Selector) ([]T, error) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	k.s.Record("list %ss", k.word)
	return k.Server.Matching(selector), nil
}

// Create implements objects.Creator.
func (k *Kind[T]) Create(_ context.Context, obj T) (T, error) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	var none T
	obj = obj.DeepCopyObject().(T)
	if err := k.refusal("create", obj); err != nil {
		return none, err
	}
	if obj.GetName() == "" {
		obj.SetName(k.Name(obj))
	}
	if _, taken := k.Server[obj.GetName()]; taken {
		k.s.Record("%s: exists", k.subject("create", obj))
		return none, apierrors.NewAlreadyExists(k.resource, obj.GetName())
	}
	k.Complete(obj)
	k.Put(obj)
	k.recordRequest("create", none, obj)
	if err := k.response("create"); err != nil {
		return none, err
	}
	return obj, nil
}

func (k *Kind[T]) replace(verb string, obj T) (T, error) {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	live, err := k.live(verb, obj, obj.GetResourceVersion())
	if err == nil {
		err = k.refusal(verb, obj)
	}
	if err != nil {
		return live, err
	}
	obj = obj.DeepCopyObject().(T)
	if verb == "update" && live.GetGeneration() > 0 {
		obj.SetGeneration(live.GetGeneration() + 1)
	}
	k.Put(obj)
	k.recordRequest(verb, live, obj)
	return obj, nil
}

// Update implements objects.Updater.
func (k *Kind[T]) Update(_ context.Context, obj T) (T, error) { return k.replace("update", obj) }

// UpdateStatus implements objects.StatusUpdater.
func (k *Kind[T]) UpdateStatus(_ context.Context, obj T) (T, error) { return k.replace("status", obj) }

// Patch implements objects.Patcher.
func (k *Kind[T]) Patch(_ context.Context, obj T, patch []byte) error {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	live, err := k.live("patch", obj, "")
	if err != nil {
		return err
	}
	patched, err := Applied(live, patch)
	if err != nil {
		return err
	}
	k.Put(patched)
	k.recordRequest("patch", live, patched)
	return nil
}

// Delete implements objects.Deleter.
func (k *Kind[T]) Delete(_ context.Context, obj T) error {
	k.s.mu.Lock()
	defer k.s.mu.Unlock()
	if err := k.refusal("delete", obj); err != nil {
		return err
	}
	live, err := k.live("delete", obj, "")
	if err != nil {
		return err
	}
	k.recordRequest("delete", live, live)
	if k.Graceful(live) {
		k.Put(Deleted(live, k.s.Now.Now()))
	} else {
		delete(k.Server, obj.GetName())
	}
	return k.response("delete")
}

// Deleted returns a copy of the object that is being deleted since then.
func Deleted[T Object](obj T, since time.Time) T {
	obj = obj.DeepCopyObject().(T)
	obj.SetDeletionTimestamp(&metav1.Time{Time: since})
	return obj
}
