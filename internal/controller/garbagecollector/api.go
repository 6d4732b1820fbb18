package garbagecollector

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/kinds"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the garbage collector for the server of set. Kinds with a cache in this process are
// watched through inf, all others by their metadata. It must be called before inf is started.
func New(set *client.Set, inf *client.Informers, events reconciler.Recorder) (*Controller, error) {
	config := rest.CopyConfig(set.Config())
	config.QPS, config.Burst = -1, 0 // the queue and its workers limit the rate
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("garbage collector: discovery client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(metadata.ConfigFor(config))
	if err != nil {
		return nil, fmt.Errorf("garbage collector: metadata client: %w", err)
	}
	c := newController(server{metadataClient}, events)
	c.watcher.discovery, c.watcher.metadata = discoverer, metadataClient
	c.useSharedCaches(inf)
	return c, nil
}

func newController(objects objects, events reconciler.Recorder) *Controller {
	c := &Controller{graph: NewGraph(), objects: objects, events: events, parallel: orphanParallel}
	runner := reconciler.New("garbagecollector", c.Reconcile, reconciler.Options{Workers: workers})
	c.queue, c.run = runner, runner.Run
	c.watcher = &watcher{
		onKinds: func(list []kinds.Kind) {
			for _, uid := range c.graph.SetKinds(list) {
				c.queue.Add(uid)
			}
		},
		onEvent:  c.onEvent,
		onForget: func(gk schema.GroupKind) { c.take(c.graph.Forget(gk)) },
		shared:   map[schema.GroupKind]func() bool{},
		watched:  map[schema.GroupKind]*watch{},
		changed:  make(chan struct{}, 1),
	}
	return c
}

// Run collects until ctx is done.
func (c *Controller) Run(ctx context.Context) error {
	if err := c.watcher.start(ctx); err != nil {
		return c.run(ctx) // ended before it started, and so does the queue
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.watcher.run(ctx)
	}()
	err := c.run(ctx)
	<-done
	return err
}

// onEvent handles a change of an object: before is nil for a new object, after for a deleted one.
func (c *Controller) onEvent(kind schema.GroupVersionKind, before, after metav1.Object) {
	if before != nil && (after == nil || before.GetUID() != after.GetUID()) {
		c.take(c.graph.Gone(before.GetUID()))
	}
	if after != nil {
		c.take(c.graph.Observe(NewObject(kind, after)))
	}
	if kind.Kind == "CustomResourceDefinition" {
		c.watcher.signal()
	}
}

// useSharedCaches watches through the caches that other components need anyway.
func (c *Controller) useSharedCaches(inf *client.Informers) {
	core := schema.GroupVersion{Version: "v1"}
	apps := schema.GroupVersion{Group: "apps", Version: "v1"}
	resource := schema.GroupVersion{Group: "resource.k8s.io", Version: "v1"}
	scheduling := schema.GroupVersion{Group: "scheduling.k8s.io", Version: "v1beta1"}
	useSharedCache(c, core.WithKind("Pod"), inf.Pods())
	useSharedCache(c, core.WithKind("Node"), inf.Nodes())
	useSharedCache(c, core.WithKind("Namespace"), inf.Namespaces())
	useSharedCache(c, apps.WithKind("Deployment"), inf.Deployments())
	useSharedCache(c, apps.WithKind("ReplicaSet"), inf.ReplicaSets())
	useSharedCache(c, resource.WithKind("ResourceClaim"), inf.ResourceClaims())
	useSharedCache(c, resource.WithKind("ResourceSlice"), inf.ResourceSlices())
	useSharedCache(c, scheduling.WithKind("PodGroup"), inf.PodGroups())
}

func useSharedCache[T client.Object](c *Controller, kind schema.GroupVersionKind, informer *client.Informer[T]) {
	c.watcher.shared[kind.GroupKind()] = informer.HasSynced
	informer.OnChange(func(before, after T) {
		c.onEvent(kind, orNil(before), orNil(after))
	})
}

// orNil turns a typed nil into an untyped one.
func orNil[T client.Object](obj T) metav1.Object {
	var none T
	if any(obj) == any(none) {
		return nil
	}
	return obj
}

// server accesses objects by metadata.
type server struct{ client metadata.Interface }

func (s server) resource(kind kinds.Kind, namespace string) metadata.ResourceInterface {
	if kind.Namespaced {
		return s.client.Resource(kind.Resource).Namespace(namespace)
	}
	return s.client.Resource(kind.Resource)
}

func (s server) Live(ctx context.Context, kind kinds.Kind, namespace, name string) (*Object, error) {
	meta, err := s.resource(kind, namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return NewObject(kind.Kind, meta), nil
}

func (s server) Delete(ctx context.Context, kind kinds.Kind, o *Object, policy metav1.DeletionPropagation) error {
	return s.resource(kind, o.Namespace).Delete(ctx, o.Name, metav1.DeleteOptions{
		PropagationPolicy: &policy,
		Preconditions:     &metav1.Preconditions{UID: &o.UID, ResourceVersion: &o.ResourceVersion},
	})
}

func (s server) Patch(ctx context.Context, kind kinds.Kind, o *Object, patch []byte) error {
	_, err := s.resource(kind, o.Namespace).Patch(ctx, o.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
