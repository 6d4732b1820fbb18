package disruption

import (
	"context"
	"fmt"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/scale"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"

	apps "github.com/allot-dev/allot/api/apps/v1"
	"github.com/allot-dev/allot/internal/controller/objects"
)

// scales returns the scale of Deployments, ReplicaSets and StatefulSets from caches, and of other
// kinds with the subresource from the API.
type scales struct {
	deployments  objects.Getter[*apps.Deployment]
	replicaSets  objects.Getter[*apps.ReplicaSet]
	statefulSets objects.Getter[*apps.StatefulSet]
	others       scaler
}

// ScaleOf implements scaler. A ReplicaSet of a Deployment has the scale of the Deployment: during a
// rollout, several ReplicaSets share it.
func (s scales) ScaleOf(
	ctx context.Context, namespace string, owner *metav1.OwnerReference,
) (types.UID, int32, bool, error) {
	switch schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind) {
	case appsv1.SchemeGroupVersion.WithKind("StatefulSet"):
		if set, ok := s.statefulSets.Get(namespace, owner.Name); ok && set.UID == owner.UID {
			return set.UID, ptr.Deref(set.Spec.Replicas, 1), true, nil
		}
		return "", 0, false, nil
	case appsv1.SchemeGroupVersion.WithKind("ReplicaSet"):
		set, ok := s.replicaSets.Get(namespace, owner.Name)
		if !ok || set.UID != owner.UID {
			return "", 0, false, nil
		}
		if ref := metav1.GetControllerOfNoCopy(set); ref != nil && ref.Kind == "Deployment" {
			if d, ok := s.deployments.Get(namespace, ref.Name); ok && d.UID == ref.UID {
				return d.UID, ptr.Deref(d.Spec.Replicas, 1), true, nil
			}
			return "", 0, false, nil
		}
		return set.UID, ptr.Deref(set.Spec.Replicas, 1), true, nil
	default:
		return s.others.ScaleOf(ctx, namespace, owner)
	}
}

// scaleClient reads the subresource scale of any kind from the API.
type scaleClient struct {
	mapper meta.ResettableRESTMapper
	scales scale.ScalesGetter
	clock  clock.PassiveClock

	mu        sync.Mutex
	lastReset time.Time // last reset of the mapper
}

func newServed(cfg *rest.Config) (*scaleClient, error) {
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(d))
	getter, err := scale.NewForConfig(cfg, mapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(d))
	return &scaleClient{mapper: mapper, scales: getter, clock: clock.RealClock{}}, err
}

// ScaleOf implements scaler.
func (s *scaleClient) ScaleOf(
	ctx context.Context, namespace string, owner *metav1.OwnerReference,
) (types.UID, int32, bool, error) {
	gvk := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind)
	mapping, err := s.mapping(gvk)
	if meta.IsNoMatchError(err) {
		return "", 0, false, nil
	}
	if err != nil {
		return "", 0, false, fmt.Errorf("resource of %v: %w", gvk, err)
	}
	found, err := s.scales.Scales(namespace).Get(ctx, mapping.Resource.GroupResource(), owner.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return "", 0, false, nil
	}
	if err != nil {
		return "", 0, false, err
	}
	return found.UID, found.Spec.Replicas, found.UID == owner.UID, nil
}

// mapping returns the resource of a kind. The mapper never looks again by itself, so it is reset
// for an unknown kind, but not each time: pods with an owner of a kind that is not served are
// common.
func (s *scaleClient) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if !meta.IsNoMatchError(err) || !s.mayAsk() {
		return mapping, err
	}
	s.mapper.Reset()
	return s.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}

func (s *scaleClient) mayAsk() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.clock.Now(); now.Sub(s.lastReset) >= noScaleWindow {
		s.lastReset = now
		return true
	}
	return false
}
