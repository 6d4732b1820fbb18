package templatesync

import (
	"context"
	"errors"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	allotv1alpha1 "github.com/allot-dev/allot/api/allot/v1alpha1"
	"github.com/allot-dev/allot/internal/client"
)

// caches hold namespaces and templates with little of their metadata, and complete originals.
type caches struct {
	namespaces, originals, templates cache.SharedIndexInformer
}

func newCaches(a *api) (*caches, error) {
	c := &caches{
		namespaces: metadataInformer(a, namespaces),
		templates:  metadataInformer(a, a.templates),
		originals: cache.NewSharedIndexInformer(client.ListWatch(a.originals, "clusterresourceclaimtemplates"),
			&allotv1alpha1.ClusterResourceClaimTemplate{}, 0, cache.Indexers{}),
	}
	return c, errors.Join(
		c.namespaces.SetTransform(slimNamespace),
		c.templates.SetTransform(slimTemplate),
		c.originals.SetTransform(readOriginal),
	)
}

func metadataInformer(a *api, gvr schema.GroupVersionResource) cache.SharedIndexInformer {
	return cache.NewSharedIndexInformer(client.ListWatch(a.metadata.Resource(gvr), gvr.Resource),
		&metav1.PartialObjectMetadata{}, 0, cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// The transforms must not change objects that went through them before.

func slimNamespace(obj any) (any, error) {
	if whole, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return &metav1.ObjectMeta{
			Name: whole.Name, UID: whole.UID, ResourceVersion: whole.ResourceVersion, Labels: whole.Labels,
			DeletionTimestamp: whole.DeletionTimestamp,
		}, nil
	}
	return obj, nil
}

func slimTemplate(obj any) (any, error) {
	if whole, ok := obj.(*metav1.PartialObjectMetadata); ok {
		return NewCopy(&whole.ObjectMeta), nil
	}
	return obj, nil
}

func readOriginal(obj any) (any, error) {
	if whole, ok := obj.(*allotv1alpha1.ClusterResourceClaimTemplate); ok {
		whole.ManagedFields = nil
		return NewOriginal(whole)
	}
	return obj, nil
}

// follow calls c for all changes. The functions in synced report whether it was called for all
// objects of the first lists.
func (cs *caches) follow(c *Controller) (synced []cache.InformerSynced, err error) {
	for _, handler := range []struct {
		informer cache.SharedIndexInformer
		handler  cache.ResourceEventHandler
	}{
		{cs.namespaces, changeHandler(c.onNamespace)},
		{cs.originals, changeHandler(c.onOriginal)},
		{cs.templates, changeHandler(c.onCopy)},
	} {
		registration, err := handler.informer.AddEventHandler(handler.handler)
		if err != nil {
			return nil, fmt.Errorf("follow the caches: %w", err)
		}
		synced = append(synced, registration.HasSynced)
	}
	return synced, nil
}

// changeHandler calls f for each change: before is nil for a new object, and after is nil for a deleted
// one.
func changeHandler[T any](f func(before, after *T)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { f(nil, obj.(*T)) },
		UpdateFunc: func(before, after any) { f(before.(*T), after.(*T)) },
		DeleteFunc: func(obj any) {
			if tombstone, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = tombstone.Obj
			}
			f(obj.(*T), nil)
		},
	}
}

// run fills the caches and keeps them up to date until ctx ends.
func (cs *caches) run(ctx context.Context) (wait func()) {
	var running sync.WaitGroup
	for _, informer := range []cache.SharedIndexInformer{cs.namespaces, cs.originals, cs.templates} {
		running.Go(func() { informer.RunWithContext(ctx) })
	}
	return running.Wait
}

func (cs *caches) Namespace(name string) (*metav1.ObjectMeta, bool) {
	return get[metav1.ObjectMeta](cs.namespaces, name)
}

func (cs *caches) Namespaces() []*metav1.ObjectMeta {
	return typed[metav1.ObjectMeta](cs.namespaces.GetStore().List())
}

func (cs *caches) Originals() []*Original { return typed[Original](cs.originals.GetStore().List()) }

func (cs *caches) Copy(namespace, name string) (*Copy, bool) {
	return get[Copy](cs.templates, namespace+"/"+name)
}

func (cs *caches) CopiesIn(namespace string) []*Copy {
	found, err := cs.templates.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		panic(err) // the index is made with the cache
	}
	return typed[Copy](found)
}

func get[T any](informer cache.SharedIndexInformer, key string) (*T, bool) {
	obj, ok, err := informer.GetStore().GetByKey(key)
	if err != nil || !ok {
		return nil, false
	}
	return obj.(*T), true
}

func typed[T any](objs []any) []*T {
	list := make([]*T, len(objs))
	for i, obj := range objs {
		list[i] = obj.(*T)
	}
	return list
}
