package registry

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"
	genericregistry "k8s.io/apiserver/pkg/registry/generic/registry"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/claims"
)

// Lookup reads other objects of the storage, for rules that need them. Objects are from the watch
// cache, may be slightly outdated, and must not be modified.
type Lookup struct {
	stores map[schema.GroupResource]*genericregistry.Store
	// services is the storage of Services.
	services *serviceStorage
}

// claimGroup is a PodGroup whose claims a pod may use.
type claimGroup = *scheduling.PodGroup

func (l *Lookup) set(resource schema.GroupResource, store *genericregistry.Store) {
	if l.stores == nil {
		l.stores = map[schema.GroupResource]*genericregistry.Store{}
	}
	l.stores[resource] = store
}

// get reads an object; fresh reads from the storage itself.
func (l *Lookup) get(
	ctx context.Context, resource schema.GroupResource, namespace, name string, fresh bool,
) (runtime.Object, error) {
	store, ok := l.stores[resource]
	if !ok {
		return nil, fmt.Errorf("no storage of %s", resource)
	}
	options := &metav1.GetOptions{}
	if !fresh {
		options.ResourceVersion = "0"
	}
	return store.Get(genericapirequest.WithNamespace(ctx, namespace), name, options)
}

// find reads an object from the cache, then from the storage; ok is false if neither has it. A name
// that is not a path segment cannot exist, although the storage returns another error for it: the
// caller treats it like a name that does not exist.
func find[P runtime.Object](
	ctx context.Context, l *Lookup, resource schema.GroupResource, namespace, name string,
) (out P, ok bool, err error) {
	if name == "" || len(content.IsPathSegmentName(name)) > 0 {
		return out, false, nil
	}
	obj, err := l.get(ctx, resource, namespace, name, false)
	if apierrors.IsNotFound(err) {
		obj, err = l.get(ctx, resource, namespace, name, true)
	}
	switch {
	case apierrors.IsNotFound(err):
		return out, false, nil
	case err != nil:
		return out, false, err
	}
	out, ok = obj.(P)
	return out, ok, nil
}

// Namespace reads a namespace.
func (l *Lookup) Namespace(ctx context.Context, name string) (*corev1.Namespace, bool, error) {
	return find[*corev1.Namespace](ctx, l, schema.GroupResource{Resource: "namespaces"}, "", name)
}

// Workload reads a Workload.
func (l *Lookup) Workload(ctx context.Context, namespace, name string) (*scheduling.Workload, bool, error) {
	return find[*scheduling.Workload](ctx, l, schema.GroupResource{Group: schedulingGroup, Resource: "workloads"},
		namespace, name)
}

// PriorityClass reads a PriorityClass.
func (l *Lookup) PriorityClass(ctx context.Context, name string) (*schedulingv1.PriorityClass, bool, error) {
	return find[*schedulingv1.PriorityClass](ctx, l,
		schema.GroupResource{Group: schedulingGroup, Resource: "priorityclasses"}, "", name)
}

// LimitRanges lists the LimitRanges of a namespace.
func (l *Lookup) LimitRanges(ctx context.Context, namespace string) ([]corev1.LimitRange, error) {
	store, ok := l.stores[schema.GroupResource{Resource: "limitranges"}]
	if !ok {
		return nil, errors.New("no storage of limitranges")
	}
	list, err := store.List(genericapirequest.WithNamespace(ctx, namespace),
		&internalversion.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	return list.(*corev1.LimitRangeList).Items, nil
}

// PriorityClasses lists all PriorityClasses.
func (l *Lookup) PriorityClasses(ctx context.Context) ([]schedulingv1.PriorityClass, error) {
	store, ok := l.stores[schema.GroupResource{Group: schedulingGroup, Resource: "priorityclasses"}]
	if !ok {
		return nil, errors.New("no storage of priorityclasses")
	}
	list, err := store.List(genericapirequest.WithNamespace(ctx, ""), &internalversion.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	return list.(*schedulingv1.PriorityClassList).Items, nil
}

// groupOf returns the PodGroup that a pod names, or nil if the cache does not have it.
func (l *Lookup) groupOf(ctx context.Context, pod *core.Pod) claimGroup {
	name, ok := claims.GroupName(pod)
	if !ok || len(pod.Spec.ResourceClaims) == 0 {
		return nil
	}
	namespace, _ := genericapirequest.NamespaceFrom(ctx)
	obj, err := l.get(ctx, schema.GroupResource{Group: schedulingGroup, Resource: "podgroups"}, namespace, name, false)
	if err != nil {
		return nil
	}
	group, _ := obj.(*scheduling.PodGroup)
	return group
}

// hasTemplate reports whether the cache has a ResourceClaimTemplate in the namespace of the request.
func (l *Lookup) hasTemplate(ctx context.Context, name string) bool {
	namespace, _ := genericapirequest.NamespaceFrom(ctx)
	_, err := l.get(ctx, schema.GroupResource{Group: resourceGroup, Resource: "resourceclaimtemplates"},
		namespace, name, false)
	return err == nil
}
