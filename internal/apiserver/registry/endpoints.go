package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// endpoints are the addresses of the pods of Services, for clients of before EndpointSlices.
func endpoints() entry {
	//nolint:staticcheck // the kind is deprecated, and Kubernetes 1.37 serves it
	return &kind[corev1.Endpoints, *corev1.Endpoints]{
		names: names{
			versions: v1, plural: "endpoints", singular: "endpoints", short: []string{"ep"}, key: "services/endpoints",
		},
		newList:        func() runtime.Object { return &corev1.EndpointsList{} },
		defaults:       defaults.Endpoints,
		printer:        printers.Endpoints,
		class:          rbac.ReadOnly,
		createOnUpdate: true,

		validate:       validation.ValidateEndpoints,
		validateUpdate: validation.ValidateEndpointsUpdate,
		warnings:       validation.EndpointsWarnings,
	}
}

// endpointSlices are the addresses of the pods of Services.
func endpointSlices() entry {
	return &kind[discoveryv1.EndpointSlice, *discoveryv1.EndpointSlice]{
		names: names{
			group: discoveryv1.GroupName, versions: v1, plural: "endpointslices", singular: "endpointslice",
		},
		newList:  func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
		defaults: defaults.EndpointSlice,
		printer:  printers.EndpointSlice,
		class:    rbac.ReadOnly,

		prepareCreate: func(_ context.Context, s *discoveryv1.EndpointSlice) {
			s.Generation = 1
			dropTopology(s, nil)
		},
		prepareUpdate: func(_ context.Context, s, old *discoveryv1.EndpointSlice) {
			if s.AddressType != old.AddressType || !apiequality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) ||
				!apiequality.Semantic.DeepEqual(s.Ports, old.Ports) || !apiequality.Semantic.DeepEqual(s.Labels, old.Labels) {
				s.Generation = old.Generation + 1
			} else {
				s.Generation = old.Generation
			}
			dropTopology(s, old)
		},
		validate:       validation.ValidateEndpointSlice,
		validateUpdate: validation.ValidateEndpointSliceUpdate,
		warnings:       validation.EndpointSliceWarnings,
	}
}

// dropTopology drops the deprecated topology of changed endpoints, which v1 cannot set. A node name
// that is stored there is kept as the name of the node.
func dropTopology(s, old *discoveryv1.EndpointSlice) {
	was := map[string]bool{}
	if old != nil {
		if apiequality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
			return
		}
		for _, e := range old.Endpoints {
			was[e.DeprecatedTopology[corev1.LabelHostname]] = true
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if name := e.DeprecatedTopology[corev1.LabelHostname]; e.NodeName == nil && name != "" && was[name] {
			e.NodeName = &name
		}
		e.DeprecatedTopology = nil
	}
}
