package registry

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/authentication/user"
	genericapirequest "k8s.io/apiserver/pkg/endpoints/request"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Get implements rest.Getter.
func (s *podStorage) Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error) {
	obj, err := s.storage.Get(ctx, name, options)
	if pod, ok := obj.(*core.Pod); ok && err == nil && fromNode(ctx) {
		return forKubelet(pod), nil
	}
	return obj, err
}

// List implements rest.Lister.
func (s *podStorage) List(ctx context.Context, options *internalversion.ListOptions) (runtime.Object, error) {
	obj, err := s.storage.List(ctx, options)
	if list, ok := obj.(*core.PodList); ok && err == nil && fromNode(ctx) {
		for i := range list.Items {
			list.Items[i] = *forKubelet(&list.Items[i])
		}
	}
	return obj, err
}

// Watch implements rest.Watcher.
func (s *podStorage) Watch(ctx context.Context, options *internalversion.ListOptions) (watch.Interface, error) {
	if !fromNode(ctx) {
		return s.storage.Watch(ctx, options)
	}
	w, err := s.Store.Watch(ctx, options)
	if err != nil {
		return nil, err
	}
	return watch.Filter(w, func(event watch.Event) (watch.Event, bool) {
		if shared, ok := event.Object.(runtime.CacheableObject); ok {
			event.Object = shared.GetObject() // a copy
		}
		if pod, ok := event.Object.(*core.Pod); ok {
			event.Object = forKubelet(pod)
		}
		return event, true
	}), nil
}

// fromNode reports whether a request is that of a node.
func fromNode(ctx context.Context) bool {
	who, ok := genericapirequest.UserFrom(ctx)
	return ok && slices.Contains(who.GetGroups(), user.NodesGroup)
}

// forKubelet returns the pod as a kubelet 1.37 understands it. It does not know the fields of KEP-5729
// and KEP-5978, and refuses a pod with an entry that has none of its own fields. So an entry has, in
// addition, the name of its claim, or a name of a template, for which the kubelet looks the claim up
// in the status. The pod itself is not changed.
func forKubelet(pod *core.Pod) *core.Pod {
	if !slices.ContainsFunc(pod.Spec.ResourceClaims, unknownToKubelet) {
		return pod
	}
	seen := *pod
	seen.Spec.ResourceClaims = slices.Clone(pod.Spec.ResourceClaims)
	for i := range seen.Spec.ResourceClaims {
		entry := &seen.Spec.ResourceClaims[i]
		if !unknownToKubelet(*entry) {
			continue
		}
		if entry.PodGroupResourceClaim == nil {
			entry.ResourceClaimTemplateName = entry.ClusterResourceClaimTemplateName
		} else if entry.ResourceClaimName = claimOf(pod, entry.Name); entry.ResourceClaimName == nil {
			entry.ResourceClaimTemplateName = entry.PodGroupResourceClaim
		}
	}
	return &seen
}

// unknownToKubelet reports whether an entry has none of the fields of Kubernetes 1.37.
func unknownToKubelet(entry core.PodResourceClaim) bool {
	return entry.ResourceClaimName == nil && entry.ResourceClaimTemplateName == nil &&
		(entry.PodGroupResourceClaim != nil || entry.ClusterResourceClaimTemplateName != nil)
}

// claimOf returns the name of the claim of an entry, or nil if it is not known or not needed.
func claimOf(pod *core.Pod, entry string) *string {
	i := slices.IndexFunc(pod.Status.ResourceClaimStatuses, func(s corev1.PodResourceClaimStatus) bool {
		return s.Name == entry
	})
	if i < 0 {
		return nil
	}
	return pod.Status.ResourceClaimStatuses[i].ResourceClaimName
}
