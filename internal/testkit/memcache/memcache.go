// Package memcache has caches of API objects without a server: what an informer shows, put there by
// a test.
//
// A Cache shows a change before it tells of it, as informers do. It is used from one goroutine.
package memcache

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Cache is the cache of one kind.
type Cache[T metav1.Object] struct {
	objects  map[string]T
	handlers []func(old, now T)
	indexes  map[string]*index[T]
}

type index[T metav1.Object] struct {
	keys  func(T) []string
	names map[string]map[string]bool // names of objects, by key
}

// New is an empty Cache.
func New[T metav1.Object]() *Cache[T] {
	return &Cache[T]{objects: map[string]T{}, indexes: map[string]*index[T]{}}
}

func key(namespace, name string) string { return namespace + "/" + name }

// Put adds or replaces an object, and tells the handlers.
func (c *Cache[T]) Put(object T) {
	k := key(object.GetNamespace(), object.GetName())
	old, replaced := c.objects[k]
	c.objects[k] = object
	for _, in := range c.indexes {
		if replaced {
			in.drop(k, old)
		}
		in.add(k, object)
	}
	c.notify(old, object)
}

// Delete takes an object away, and tells the handlers.
func (c *Cache[T]) Delete(namespace, name string) {
	old, ok := c.objects[key(namespace, name)]
	if !ok {
		return
	}
	delete(c.objects, key(namespace, name))
	for _, in := range c.indexes {
		in.drop(key(namespace, name), old)
	}
	var none T
	c.notify(old, none)
}

func (c *Cache[T]) notify(old, now T) {
	for _, handler := range c.handlers {
		handler(old, now)
	}
}

// Get returns an object.
func (c *Cache[T]) Get(namespace, name string) (T, bool) {
	object, ok := c.objects[key(namespace, name)]
	return object, ok
}

// List returns all objects, sorted by namespace and name.
func (c *Cache[T]) List() []T {
	var list []T
	for _, k := range slices.Sorted(maps.Keys(c.objects)) {
		list = append(list, c.objects[k])
	}
	return list
}

// OnChange makes f receive all later changes.
func (c *Cache[T]) OnChange(f func(old, now T)) { c.handlers = append(c.handlers, f) }

// AddIndex makes ByIndex find objects under the keys that keys gives. An index of that name that is
// there already stays.
func (c *Cache[T]) AddIndex(name string, keys func(T) []string) error {
	if c.indexes[name] != nil {
		return nil
	}
	c.indexes[name] = &index[T]{keys: keys, names: map[string]map[string]bool{}}
	for k, object := range c.objects {
		c.indexes[name].add(k, object)
	}
	return nil
}

// ByIndex returns the objects that an index has under key, sorted by namespace and name.
func (c *Cache[T]) ByIndex(name, key string) []T {
	var list []T
	for _, k := range slices.Sorted(maps.Keys(c.indexes[name].names[key])) {
		list = append(list, c.objects[k])
	}
	return list
}

func (i *index[T]) add(k string, object T) {
	for _, key := range i.keys(object) {
		if i.names[key] == nil {
			i.names[key] = map[string]bool{}
		}
		i.names[key][k] = true
	}
}

func (i *index[T]) drop(k string, object T) {
	for _, key := range i.keys(object) {
		delete(i.names[key], k)
	}
}
