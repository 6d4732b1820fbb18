package client

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"k8s.io/client-go/tools/cache"
)

// Informers holds one informer per requested kind. Request all kinds, add indexes and handlers,
// then call Start.
type Informers struct {
	set *Set

	mu      sync.Mutex // guards the fields below
	kinds   map[string]any
	absent  map[string]bool
	shared  []cache.SharedIndexInformer
	synced  []cache.InformerSynced // one for each of shared
	started int
	running sync.WaitGroup
}

// NewInformers returns Informers without any informer.
func NewInformers(set *Set) *Informers {
	return &Informers{set: set, kinds: map[string]any{}, absent: map[string]bool{}}
}

// Without removes kinds that the server does not serve: their caches stay empty and count as
// synced. It must be called before any kind is requested.
func (i *Informers) Without(kinds ...string) *Informers {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, kind := range kinds {
		i.absent[kind] = true
	}
	return i
}

// Has reports whether the server serves a kind.
func (i *Informers) Has(kind string) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return !i.absent[kind]
}

// Kinds returns the requested kinds that the server serves, sorted.
func (i *Informers) Kinds() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var out []string
	for _, kind := range slices.Sorted(maps.Keys(i.kinds)) {
		if !i.absent[kind] {
			out = append(out, kind)
		}
	}
	return out
}

// Start runs the informers requested since the last call, until ctx ends.
func (i *Informers) Start(ctx context.Context) {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, informer := range i.shared[i.started:] {
		i.running.Go(func() { informer.RunWithContext(ctx) })
	}
	i.started = len(i.shared)
}

// WaitForSync waits until all started informers and their handlers have processed the first list.
func (i *Informers) WaitForSync(ctx context.Context) error {
	i.mu.Lock()
	synced := slices.Clone(i.synced[:i.started])
	i.mu.Unlock()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.Join(errors.New("stopped before the caches were filled"), ctx.Err())
	}
	return nil
}

// Wait waits until all informers have stopped, after the context of Start has ended.
func (i *Informers) Wait() { i.running.Wait() }

func informerFor[T Object](f *Informers, kind string, create func() *Informer[T]) *Informer[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i, ok := f.kinds[kind]; ok {
		return i.(*Informer[T])
	}
	i := create()
	f.kinds[kind] = i
	if f.absent[kind] {
		i.absent = true
		return i
	}
	f.shared = append(f.shared, i.shared)
	f.synced = append(f.synced, i.HasSynced)
	return i
}
