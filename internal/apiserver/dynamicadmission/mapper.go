package dynamicadmission

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/restmapper"
)

// Mapper maps kinds to resources as the server's discovery shows them.
type Mapper struct {
	*restmapper.DeferredDiscoveryRESTMapper
}

// NewMapper returns a Mapper that asks client when a kind is mapped for the first time.
func NewMapper(client discovery.DiscoveryInterface) Mapper {
	return Mapper{restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))}
}

// RESTMapping implements meta.RESTMapper. A kind that is not known may be that of a new custom
// resource: the server is asked again.
func (m Mapper) RESTMapping(kind schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	mapping, err := m.DeferredDiscoveryRESTMapper.RESTMapping(kind, versions...)
	if meta.IsNoMatchError(err) {
		m.Reset()
		mapping, err = m.DeferredDiscoveryRESTMapper.RESTMapping(kind, versions...)
	}
	return mapping, err
}

// Resource returns the resource of a kind.
func (m Mapper) Resource(kind schema.GroupVersionKind) (schema.GroupVersionResource, error) {
	mapping, err := m.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return schema.GroupVersionResource{}, err
	}
	return mapping.Resource, nil
}
