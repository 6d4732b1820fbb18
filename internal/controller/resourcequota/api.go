package resourcequota

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/client"
	"github.com/allot-dev/allot/internal/controller/kinds"
	"github.com/allot-dev/allot/internal/controller/reconciler"
)

// New returns the controller of the ResourceQuotas in inf's cache. It must be called before inf is
// started.
func New(set *client.Set, inf *client.Informers) (*Controller, error) {
	config := rest.CopyConfig(set.Config())
	discoverer, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("resource quota controller: discovery client: %w", err)
	}
	metadataClient, err := metadata.NewForConfig(metadata.ConfigFor(config))
	if err != nil {
		return nil, fmt.Errorf("resource quota controller: metadata client: %w", err)
	}
	quotas := inf.ResourceQuotas()
	c := &Controller{
		quotas: quotas, write: server{set}, clock: clock.RealClock{},
		list: objects{
			inf.Pods(),
			inf.ResourceClaims(),
			inf.Services(),
			inf.PersistentVolumeClaims(),
			otherResources{discoverer, metadataClient},
		}.list,
	}
	runner := reconciler.New("resourcequota", c.Reconcile, reconciler.Options{Ready: inf.WaitForSync})
	c.queue, c.run = runner, runner.Run
	quotas.OnChange(c.onQuota)
	inf.Pods().OnChange(func(before, after *core.Pod) {
		if before != nil && (after == nil || after.Status.Phase != before.Status.Phase) {
			c.recount(before.Namespace)
		}
	})
	inf.ResourceClaims().OnChange(func(before, after *resource.ResourceClaim) { onDelete(c, before, after == nil) })
	inf.Services().OnChange(func(before, after *corev1.Service) { onDelete(c, before, after == nil) })
	inf.PersistentVolumeClaims().OnChange(
		func(before, after *corev1.PersistentVolumeClaim) { onDelete(c, before, after == nil) },
	)
	return c, nil
}

func onDelete[T metav1.Object](c *Controller, obj T, deleted bool) {
	if deleted {
		c.recount(obj.GetNamespace())
	}
}

// server writes to the API.
type server struct{ set *client.Set }

func (s server) UpdateQuotaStatus(ctx context.Context, q *corev1.ResourceQuota) error {
	_, err := s.set.ResourceQuotas(q.Namespace).UpdateStatus(ctx, q, metav1.UpdateOptions{})
	return err
}

// objects lists the objects of a namespace, from caches where there are some.
type objects struct {
	pods         *client.Informer[*core.Pod]
	claims       *client.Informer[*resource.ResourceClaim]
	services     *client.Informer[*corev1.Service]
	volumeClaims *client.Informer[*corev1.PersistentVolumeClaim]
	others       otherResources
}

func (o objects) list(resource schema.GroupResource, namespace string) ([]runtime.Object, error) {
	switch resource.String() {
	case "pods":
		return asObjects(o.pods.InNamespace(namespace)), nil
	case "resourceclaims.resource.k8s.io":
		return asObjects(o.claims.InNamespace(namespace)), nil
	case "services":
		return asObjects(o.services.InNamespace(namespace)), nil
	case "persistentvolumeclaims":
		return asObjects(o.volumeClaims.InNamespace(namespace)), nil
	}
	return o.others.list(resource, namespace)
}

func asObjects[T runtime.Object](list []T) []runtime.Object {
	out := make([]runtime.Object, len(list))
	for i, obj := range list {
		out[i] = obj
	}
	return out
}

// otherResources lists the metadata of objects of kinds without a cache.
type otherResources struct {
	discovery kinds.Discovery
	client    metadata.Interface
}

func (o otherResources) list(resource schema.GroupResource, namespace string) ([]runtime.Object, error) {
	served, err := kinds.List(o.discovery)
	for _, kind := range served {
		if kind.Resource.GroupResource() != resource || !kind.Namespaced {
			continue
		}
		list, err := o.client.Resource(kind.Resource).Namespace(namespace).List(context.Background(), metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", resource, err)
		}
		out := make([]runtime.Object, len(list.Items))
		for i := range list.Items {
			out[i] = &list.Items[i]
		}
		return out, nil
	}
	return nil, err // nothing of a kind that is not served
}
