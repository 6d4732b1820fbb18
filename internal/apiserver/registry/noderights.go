package registry

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/apiserver/noderights"
)

var _ noderights.Objects = &Lookup{}

// PodsOn returns the pods that are bound to a node.
func (l *Lookup) PodsOn(ctx context.Context, node string) ([]*core.Pod, error) {
	store, ok := l.stores[corev1.Resource("pods")]
	if !ok {
		return nil, errors.New("no storage of pods")
	}
	list, err := store.List(genericapirequest.WithNamespace(ctx, ""), &internalversion.ListOptions{
		ResourceVersion: "0", FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node),
	})
	if err != nil {
		return nil, err
	}
	pods := list.(*core.PodList).Items
	out := make([]*core.Pod, len(pods))
	for i := range pods {
		out[i] = &pods[i]
	}
	return out, nil
}

// Pod returns a pod.
func (l *Lookup) Pod(ctx context.Context, namespace, name string) (*core.Pod, bool, error) {
	return find[*core.Pod](ctx, l, corev1.Resource("pods"), namespace, name)
}

// Node returns a Node.
func (l *Lookup) Node(ctx context.Context, name string) (*corev1.Node, bool, error) {
	return find[*corev1.Node](ctx, l, corev1.Resource("nodes"), "", name)
}

// VolumeClaim returns a PersistentVolumeClaim.
func (l *Lookup) VolumeClaim(ctx context.Context, namespace, name string) (*corev1.PersistentVolumeClaim, bool, error) {
	return find[*corev1.PersistentVolumeClaim](ctx, l, corev1.Resource("persistentvolumeclaims"), namespace, name)
}

// ResourceSlice returns a ResourceSlice.
func (l *Lookup) ResourceSlice(ctx context.Context, name string) (*resourcev1.ResourceSlice, bool, error) {
	return find[*resourcev1.ResourceSlice](ctx, l,
		schema.GroupResource{Group: resourcev1.GroupName, Resource: "resourceslices"}, "", name)
}
