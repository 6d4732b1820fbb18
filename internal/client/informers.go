package client

import (
	"context"
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/tools/cache"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	resourcev1alpha3 "github.com/allot-dev/allot/api/resource/v1alpha3"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Informers holds one informer for each kind that somebody asked for. Ask for all kinds, add indexes
// and handlers, then Start.
type Informers struct {
	set *Set

	mu      sync.Mutex // guards the fields below
	kinds   map[string]any
	shared  []cache.SharedIndexInformer
	synced  []cache.InformerSynced // one for each of shared
	started int
	running sync.WaitGroup
}

// NewInformers makes Informers without any informer yet.
func NewInformers(set *Set) *Informers {
	return &Informers{set: set, kinds: map[string]any{}}
}

// Start runs the informers that were asked for since the last Start, until ctx ends.
func (f *Informers) Start(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, informer := range f.shared[f.started:] {
		f.running.Go(func() { informer.RunWithContext(ctx) })
	}
	f.started = len(f.shared)
}

// WaitForSync waits until all started informers, and their handlers, have seen their first list.
func (f *Informers) WaitForSync(ctx context.Context) error {
	f.mu.Lock()
	synced := slices.Clone(f.synced[:f.started])
	f.mu.Unlock()
	if !cache.WaitForCacheSync(ctx.Done(), synced...) {
		return errors.Join(errors.New("stopped before the caches were filled"), ctx.Err())
	}
	return nil
}

// Wait waits until all informers have stopped, after the context of Start has ended.
func (f *Informers) Wait() { f.running.Wait() }

func informerFor[T Object](f *Informers, kind string, make func() *Informer[T]) *Informer[T] {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i, ok := f.kinds[kind]; ok {
		return i.(*Informer[T])
	}
	i := make()
	f.kinds[kind] = i
	f.shared = append(f.shared, i.shared)
	f.synced = append(f.synced, i.HasSynced)
	return i
}

// Pods is the cache of pods.
func (f *Informers) Pods() *Informer[*core.Pod] {
	return informerFor(f, "pods", func() *Informer[*core.Pod] { return newInformer(f.set.Pods(""), &core.Pod{}) })
}

// Nodes is the cache of nodes.
func (f *Informers) Nodes() *Informer[*corev1.Node] {
	return informerFor(f, "nodes", func() *Informer[*corev1.Node] { return newInformer(f.set.Nodes(), &corev1.Node{}) })
}

// Namespaces is the cache of namespaces.
func (f *Informers) Namespaces() *Informer[*corev1.Namespace] {
	return informerFor(f, "namespaces", func() *Informer[*corev1.Namespace] {
		return newInformer(f.set.Namespaces(), &corev1.Namespace{})
	})
}

// Deployments is the cache of deployments.
func (f *Informers) Deployments() *Informer[*apps.Deployment] {
	return informerFor(f, "deployments", func() *Informer[*apps.Deployment] {
		return newInformer(f.set.Deployments(""), &apps.Deployment{})
	})
}

// ReplicaSets is the cache of replica sets.
func (f *Informers) ReplicaSets() *Informer[*apps.ReplicaSet] {
	return informerFor(f, "replicasets", func() *Informer[*apps.ReplicaSet] {
		return newInformer(f.set.ReplicaSets(""), &apps.ReplicaSet{})
	})
}

// PodGroups is the cache of PodGroups.
func (f *Informers) PodGroups() *Informer[*scheduling.PodGroup] {
	return informerFor(f, "podgroups", func() *Informer[*scheduling.PodGroup] {
		return newInformer(f.set.PodGroups(""), &scheduling.PodGroup{})
	})
}

// ResourceClaims is the cache of claims.
func (f *Informers) ResourceClaims() *Informer[*resource.ResourceClaim] {
	return informerFor(f, "resourceclaims", func() *Informer[*resource.ResourceClaim] {
		return newInformer(f.set.ResourceClaims(""), &resource.ResourceClaim{})
	})
}

// ResourceClaimTemplates is the cache of claim templates.
func (f *Informers) ResourceClaimTemplates() *Informer[*resource.ResourceClaimTemplate] {
	return informerFor(f, "resourceclaimtemplates", func() *Informer[*resource.ResourceClaimTemplate] {
		return newInformer(f.set.ResourceClaimTemplates(""), &resource.ResourceClaimTemplate{})
	})
}

// ClusterResourceClaimTemplates is the cache of cluster-wide claim templates.
func (f *Informers) ClusterResourceClaimTemplates() *Informer[*resourcev1alpha3.ClusterResourceClaimTemplate] {
	return informerFor(f, "clusterresourceclaimtemplates", func() *Informer[*resourcev1alpha3.ClusterResourceClaimTemplate] {
		return newInformer(f.set.ClusterResourceClaimTemplates(), &resourcev1alpha3.ClusterResourceClaimTemplate{})
	})
}

// DeviceClasses is the cache of device classes.
func (f *Informers) DeviceClasses() *Informer[*resourcev1.DeviceClass] {
	return informerFor(f, "deviceclasses", func() *Informer[*resourcev1.DeviceClass] {
		return newInformer(f.set.DeviceClasses(), &resourcev1.DeviceClass{})
	})
}

// ResourceSlices is the cache of resource slices.
func (f *Informers) ResourceSlices() *Informer[*resourcev1.ResourceSlice] {
	return informerFor(f, "resourceslices", func() *Informer[*resourcev1.ResourceSlice] {
		return newInformer(f.set.ResourceSlices(), &resourcev1.ResourceSlice{})
	})
}
