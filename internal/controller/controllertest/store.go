package controllertest

import (
	"encoding/json"
	"maps"
	"slices"

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

// Patched returns obj after a strategic merge patch, as a server applies it.
func Patched[T any](obj *T, patch []byte) (*T, error) {
	before, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, new(T))
	if err != nil {
		return nil, err
	}
	patched := new(T)
	return patched, json.Unmarshal(after, patched)
}
