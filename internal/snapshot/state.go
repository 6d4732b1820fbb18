package snapshot

import (
	"maps"
	"slices"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/cluster"
	"github.com/allot-dev/allot/internal/model"
)

// State returns the State of a scheduler whose pods have this spec.schedulerName.
func (s *Snapshot) State(schedulerName string) (*model.State, error) {
	on, err := s.Features()
	if err != nil {
		return nil, err
	}
	o := &s.Objects
	b := builder{}
	caches := cluster.Caches{
		Features: on,
		Nodes:    cached(&b, o.Nodes), Namespaces: cached(&b, o.Namespaces),
		Classes: cached(&b, o.Classes), Slices: cached(&b, o.Slices), TaintRules: cached(&b, o.TaintRules),
		Budgets: cached(&b, o.Budgets), Services: cached(&b, o.Services),
		Volumes: cached(&b, o.Volumes), VolumeClaims: cached(&b, o.VolumeClaims),
		Claims: cached(&b, o.Claims), PodGroups: cached(&b, o.PodGroups), Pods: cached(&b, o.Pods),
	}
	if len(o.CSINodes) > 0 {
		caches.CSINodes = cached(&b, o.CSINodes)
	}
	feed, err := cluster.NewFeed(caches, schedulerName)
	if err != nil {
		return nil, err
	}
	for _, report := range b.reports {
		report()
	}
	state := model.NewState()
	feed.Apply(state)
	return state, nil
}

// builder has what reports the objects of each kind to the Feed, in the order of the kinds.
type builder struct{ reports []func() }

// cache is a cluster.PodCache, and so a cluster.Cache, of objects that do not change.
type cache[T client.Object] struct {
	objects  map[model.Key]T
	handlers []func(old, now T)
	indexes  map[string]map[string][]T
}

func cached[T client.Object](b *builder, objects []T) *cache[T] {
	c := &cache[T]{objects: make(map[model.Key]T, len(objects)), indexes: map[string]map[string][]T{}}
	for _, object := range objects {
		c.objects[keyOf(object)] = object
	}
	b.reports = append(b.reports, func() {
		var none T
		for _, object := range objects {
			for _, handler := range c.handlers {
				handler(none, object)
			}
		}
	})
	return c
}

func keyOf(object client.Object) model.Key {
	return model.Key{Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Get returns an object.
func (c *cache[T]) Get(namespace, name string) (T, bool) {
	object, ok := c.objects[model.Key{Namespace: namespace, Name: name}]
	return object, ok
}

// OnChange calls f for each object when they are reported.
func (c *cache[T]) OnChange(f func(old, now T)) { c.handlers = append(c.handlers, f) }

// AddIndex finds objects under the keys that keys returns.
func (c *cache[T]) AddIndex(name string, keys func(T) []string) error {
	index := map[string][]T{}
	byName := func(a, b model.Key) int { return compareStrings(a.String(), b.String()) }
	for _, k := range slices.SortedFunc(maps.Keys(c.objects), byName) {
		object := c.objects[k]
		for _, key := range keys(object) {
			index[key] = append(index[key], object)
		}
	}
	c.indexes[name] = index
	return nil
}

// ByIndex returns the objects under a key of an index, sorted.
func (c *cache[T]) ByIndex(name, key string) []T { return c.indexes[name][key] }
