package registry

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/registry/rest"
	genericapiserver "k8s.io/apiserver/pkg/server"

	placement "github.com/allot-dev/allot/api/placement/v1alpha2"
	"github.com/allot-dev/allot/internal/features"
)

// Registry has the storages of all kinds.
type Registry struct {
	scheme *runtime.Scheme
	codecs serializer.CodecFactory
	// groups has the storages by path, for each API group and version.
	groups map[string]map[string]map[string]rest.Storage
	lookup *Lookup
	// placements is nil if the server has no journal.
	placements *placements
}

// Config is the configuration of the storages.
type Config struct {
	Scheme   *runtime.Scheme
	Codecs   serializer.CodecFactory
	Getter   generic.RESTOptionsGetter
	Access   Access
	Features features.Set
	// Alone reports whether no other server can have written to the storage since this one was
	// started.
	Alone func() bool
	// Journal stores placements that are being written. Without one, placements are not served.
	Journal Journal
	// Resource returns the resource of a kind that is served, custom resources included.
	Resource func(schema.GroupVersionKind) (schema.GroupVersionResource, error)
	// DeviceRefused is called for each write of a claim that is refused because another claim has
	// one of its devices. It may be nil.
	DeviceRefused func()
	// Kubelets reaches the kubelets of real nodes. It may be nil.
	Kubelets http.RoundTripper
	// ServiceRange is the range of the cluster IPs of Services.
	ServiceRange netip.Prefix
}

// New returns the storages of all enabled kinds in the table.
func New(cfg Config) (*Registry, error) {
	r := &Registry{
		scheme: cfg.Scheme,
		codecs: cfg.Codecs,
		groups: map[string]map[string]map[string]rest.Storage{},
		lookup: &Lookup{},
	}
	allocator, err := newServiceAllocator(cfg, r.lookup)
	if err != nil {
		return nil, err
	}
	holds := newPodHolds()
	for _, e := range table(dependencies{
		lookup: r.lookup, access: cfg.Access, features: cfg.Features, alone: cfg.Alone, now: time.Now, resource: cfg.Resource,
		deviceRefused: cfg.DeviceRefused, kubelets: cfg.Kubelets,
		allocator: allocator, holds: holds,
	}) {
		if !e.served(cfg.Features) {
			continue
		}
		if err := r.add(e, cfg); err != nil {
			return nil, err
		}
	}
	r.groups["authentication.k8s.io"] = map[string]map[string]rest.Storage{"v1": {
		"selfsubjectreviews": selfSubjectReview{}, "tokenreviews": tokenReview(cfg.Access.Tokens),
	}}
	r.groups["authorization.k8s.io"] = map[string]map[string]rest.Storage{"v1": accessReviews(cfg.Access)}
	if cfg.Journal != nil {
		status := r.groups[resourceGroup]["v1"]["resourceclaims/status"].(*claimStatus)
		claims := newPlacementClaims(r.lookup.stores[claimResource], status)
		r.placements = newPlacements(r.lookup.stores[corev1.Resource("pods")], claims, holds, cfg)
		r.groups[placement.GroupName] = map[string]map[string]rest.Storage{
			placement.SchemeGroupVersion.Version: {"placements": r.placements},
		}
	}
	return r, r.addNewerEvents()
}

// Resume completes the placements that a server had begun when it was killed, and reserves the
// addresses and ports of stored Services. It must be called before requests are served.
func (r *Registry) Resume(ctx context.Context) error {
	if err := r.lookup.services.resume(ctx); err != nil {
		return err
	}
	if r.placements == nil {
		return nil
	}
	return r.placements.resume(ctx)
}

// SetAdmission sets the admission of the parts of requests that are written as a whole. It must be
// called before requests are served.
func (r *Registry) SetAdmission(chain admission.Interface) {
	if r.placements != nil {
		r.placements.admission = chain
	}
}

func (r *Registry) add(e entry, cfg Config) error {
	if err := e.check(); err != nil {
		return err
	}
	storages, store, err := e.build(env{scheme: r.scheme, getter: cfg.Getter, features: cfg.Features})
	if err != nil {
		return fmt.Errorf("storage of %w", err)
	}
	n := e.identity()
	r.lookup.set(n.resource(), store)
	if r.groups[n.group] == nil {
		r.groups[n.group] = map[string]map[string]rest.Storage{}
	}
	for _, version := range n.versions {
		if r.groups[n.group][version] == nil {
			r.groups[n.group][version] = map[string]rest.Storage{}
		}
		maps.Copy(r.groups[n.group][version], storages)
	}
	return nil
}

// Lookup returns a reader of objects for admission.
func (r *Registry) Lookup() *Lookup { return r.lookup }

// Install serves all kinds on s.
func (r *Registry) Install(s *genericapiserver.GenericAPIServer) error {
	parameters := runtime.NewParameterCodec(r.scheme)
	var named []*genericapiserver.APIGroupInfo
	for _, group := range slices.Sorted(maps.Keys(r.groups)) {
		info := genericapiserver.NewDefaultAPIGroupInfo(group, r.scheme, parameters, r.codecs)
		info.VersionedResourcesStorageMap = r.groups[group]
		info.PrioritizedVersions = slices.DeleteFunc(info.PrioritizedVersions, func(gv schema.GroupVersion) bool {
			return r.groups[group][gv.Version] == nil
		})
		if group != "" {
			named = append(named, &info)
			continue
		}
		if err := s.InstallLegacyAPIGroup(genericapiserver.DefaultLegacyAPIPrefix, &info); err != nil {
			return err
		}
	}
	return s.InstallAPIGroups(named...)
}
