package claim

import (
	"context"
	"fmt"
	"sync"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/utils/clock"
)

// foreignPeriod is the interval between checks of a consumer without a watch.
const foreignPeriod = time.Minute

// objects reads objects of any served kind.
type objects struct {
	client metadata.Interface
	clock  clock.PassiveClock

	mu         sync.Mutex // guards the fields below
	mapper     meta.ResettableRESTMapper
	discovered time.Time // last discovery of kinds
}

func newObjects(cfg *rest.Config, clock clock.PassiveClock) (*objects, error) {
	cfg = rest.CopyConfig(cfg)
	kinds, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a discovery client: %w", err)
	}
	client, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("make a metadata client: %w", err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	return &objects{client: client, clock: clock, mapper: mapper}, nil
}

// ForeignGone reports whether a consumer certainly does not exist. For a kind that is not served or
// cannot be read, it returns false.
func (o *objects) ForeignGone(
	ctx context.Context, namespace string, ref resourcev1.ResourceClaimConsumerReference,
) (bool, error) {
	mapping, ok := o.mapping(schema.GroupResource{Group: ref.APIGroup, Resource: ref.Resource})
	if !ok {
		return false, nil
	}
	getter := metadata.ResourceInterface(o.client.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		getter = o.client.Resource(mapping.Resource).Namespace(namespace)
	}
	found, err := getter.Get(ctx, ref.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case apierrors.IsForbidden(err), apierrors.IsMethodNotSupported(err):
		return false, nil
	case err != nil:
		return false, err
	}
	return found.UID != ref.UID, nil
}

// mapping returns the mapping of a resource. Kinds added later are found within one period.
func (o *objects) mapping(resource schema.GroupResource) (*meta.RESTMapping, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.clock.Since(o.discovered) >= foreignPeriod {
		o.mapper.Reset()
		o.discovered = o.clock.Now()
	}
	kind, err := o.mapper.KindFor(resource.WithVersion(""))
	if err != nil {
		return nil, false
	}
	mapping, err := o.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	return mapping, err == nil
}
