package snapshot

import (
	"iter"
	"maps"
	"slices"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/model"
)

// Store has the objects of one kind in a World. It is a cluster.PodCache, and so a cluster.Cache.
type Store[T client.Object] struct {
	objects  map[model.Key]T
	handlers []func(old, now T)
	indexes  map[string]*index[T]
}

// index finds the objects of a Store by keys that are computed from them.
type index[T client.Object] struct {
	keys    func(T) []string
	entries map[string]*indexEntry[T]
}

// indexEntry has the objects under one key. sorted is nil after a change.
type indexEntry[T client.Object] struct {
	objects map[model.Key]T
	sorted  []T
}

// Get returns an object.
func (s *Store[T]) Get(namespace, name string) (T, bool) {
	object, ok := s.objects[model.Key{Namespace: namespace, Name: name}]
	return object, ok
}

// List returns all objects, sorted by namespace and name.
func (s *Store[T]) List() []T {
	return slices.SortedFunc(maps.Values(s.objects), compareObjects[T])
}

// All returns all objects in no particular order. The Store must not be changed meanwhile.
func (s *Store[T]) All() iter.Seq[T] { return maps.Values(s.objects) }

// Len returns the number of objects.
func (s *Store[T]) Len() int { return len(s.objects) }

// Put adds an object, or replaces the one of the same name.
func (s *Store[T]) Put(object T) {
	key := model.KeyOf(object)
	old, replaced := s.objects[key]
	s.objects[key] = object
	for _, i := range s.indexes {
		if replaced {
			i.remove(old)
		}
		i.add(object)
	}
	s.report(old, object)
}

// Delete removes the object of this name, if there is one.
func (s *Store[T]) Delete(key model.Key) {
	old, ok := s.objects[key]
	if !ok {
		return
	}
	delete(s.objects, key)
	for _, i := range s.indexes {
		i.remove(old)
	}
	var none T
	s.report(old, none)
}

func (s *Store[T]) report(old, now T) {
	for _, handler := range s.handlers {
		handler(old, now)
	}
}

// OnChange calls f for each change, also for the objects that the Store begins with.
func (s *Store[T]) OnChange(f func(old, now T)) { s.handlers = append(s.handlers, f) }

// AddIndex finds objects under the keys that keys returns.
func (s *Store[T]) AddIndex(name string, keys func(T) []string) error {
	i := &index[T]{keys: keys, entries: map[string]*indexEntry[T]{}}
	for _, object := range s.objects {
		i.add(object)
	}
	s.indexes[name] = i
	return nil
}

// ByIndex returns the objects under a key of an index, sorted. The list must not be changed.
func (s *Store[T]) ByIndex(name, key string) []T {
	i, ok := s.indexes[name]
	if !ok || i.entries[key] == nil {
		return nil
	}
	entry := i.entries[key]
	if entry.sorted == nil {
		entry.sorted = slices.SortedFunc(maps.Values(entry.objects), compareObjects[T])
	}
	return entry.sorted
}

func (i *index[T]) add(object T) {
	for _, key := range i.keys(object) {
		if i.entries[key] == nil {
			i.entries[key] = &indexEntry[T]{objects: map[model.Key]T{}}
		}
		i.entries[key].objects[model.KeyOf(object)], i.entries[key].sorted = object, nil
	}
}

func (i *index[T]) remove(object T) {
	for _, key := range i.keys(object) {
		entry := i.entries[key]
		delete(entry.objects, model.KeyOf(object))
		entry.sorted = nil
		if len(entry.objects) == 0 {
			delete(i.entries, key)
		}
	}
}

func compareObjects[T client.Object](a, b T) int {
	return model.CompareKeys(model.KeyOf(a), model.KeyOf(b))
}

func (s *Store[T]) put(object client.Object) bool {
	o, ok := object.(T)
	if ok {
		Prune(o)
		s.Put(o)
	}
	return ok
}

func (s *Store[T]) get(like client.Object) (client.Object, bool) {
	if _, ok := like.(T); !ok {
		return nil, false
	}
	object, ok := s.objects[model.KeyOf(like)]
	return object, ok
}

func (s *Store[T]) remove(like client.Object) bool {
	_, ok := like.(T)
	if _, exists := s.objects[model.KeyOf(like)]; !ok || !exists {
		return false
	}
	s.Delete(model.KeyOf(like))
	return true
}

func (s *Store[T]) each(f func(client.Object)) {
	for _, object := range s.List() {
		f(object)
	}
}

// reportAll reports the objects that the Store begins with.
func (s *Store[T]) reportAll() {
	if len(s.handlers) == 0 {
		return
	}
	var none T
	for _, object := range s.List() {
		s.report(none, object)
	}
}
