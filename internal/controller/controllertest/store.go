package controllertest

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/strategicpatch"

	"github.com/allot-dev/allot/internal/controller/ownership"
)

// Store is the objects of one kind, by name. It is a cache with ownership.Index.
type Store[T ownership.Object] map[string]T

// Get returns the object with this name.
func (s Store[T]) Get(_, name string) (T, bool) {
	obj, ok := s[name]
	return obj, ok
}

// InNamespace returns all objects, sorted by name.
func (s Store[T]) InNamespace(string) []T {
	found := make([]T, 0, len(s))
	for _, name := range slices.Sorted(maps.Keys(s)) {
		found = append(found, s[name])
	}
	return found
}

// Matching returns the objects with labels that the selector matches, sorted by name.
func (s Store[T]) Matching(selector labels.Selector) []T {
	return slices.DeleteFunc(s.List(), func(obj T) bool { return !selector.Matches(labels.Set(obj.GetLabels())) })
}

// List returns all objects, sorted by name.
func (s Store[T]) List() []T { return s.InNamespace("") }

// ByIndex returns the objects with a key of ownership.Index, sorted by name.
func (s Store[T]) ByIndex(_, key string) []T {
	return slices.DeleteFunc(s.InNamespace(""), func(obj T) bool { return !slices.Contains(ownership.Keys(obj), key) })
}

// Follow makes the store equal to server, and calls onChange for each difference, as a cache does.
func (s Store[T]) Follow(server Store[T], onChange func(before, after T)) {
	var none T
	old := maps.Clone(s)
	clear(s)
	maps.Copy(s, server)
	for _, name := range slices.Sorted(maps.Keys(s)) {
		before, after := old[name], s[name]
		if before == none || before.GetResourceVersion() != after.GetResourceVersion() {
			onChange(before, after)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(old)) {
		if s[name] == none {
			onChange(old[name], none)
		}
	}
}

// Applied returns obj after a strategic merge patch, as a server applies it.
func Applied[T Object](obj T, patch []byte) (T, error) {
	patched := reflect.New(reflect.TypeOf(obj).Elem()).Interface().(T)
	before, err := json.Marshal(obj)
	if err != nil {
		return patched, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, patched)
	if err != nil {
		return patched, err
	}
	return patched, json.Unmarshal(after, patched)
}

// Owners returns the names of an object's owners.
func Owners(obj metav1.Object) []string {
	var names []string
	for _, ref := range obj.GetOwnerReferences() {
		names = append(names, ref.Name)
	}
	return names
}

// terminating is the cause of a refusal in a namespace that is being terminated.
var terminating = metav1.StatusCause{Type: corev1.NamespaceTerminatingCause}

// Refusal returns the error of a request that the server did not carry out.
func Refusal(message string) *apierrors.StatusError {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
	}}
}
