package registry

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// services are stored for those who read them, such as controllers that look for the headless one of their pods. Nothing is
// allocated for them and nothing is routed.
func services() entry {
	return &kind[corev1.Service, *corev1.Service]{
		names: names{
			versions: v1, plural: "services", singular: "service", short: []string{"svc"}, categories: []string{"all"},
		},
		newList:        func() runtime.Object { return &corev1.ServiceList{} },
		spec:           func(s *corev1.Service) any { return &s.Spec },
		status:         func(s *corev1.Service) any { return &s.Status },
		createOnUpdate: true,
		prepareCreate:  func(_ context.Context, s *corev1.Service) { pairClusterIPs(&s.Spec, nil) },
		prepareUpdate: func(_ context.Context, s, old *corev1.Service) {
			if s.Spec.Type != corev1.ServiceTypeExternalName {
				keepClusterIP(&s.Spec, &old.Spec)
			}
			pairClusterIPs(&s.Spec, &old.Spec)
			if s.Spec.Type != corev1.ServiceTypeLoadBalancer {
				s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
			}
		},
		fields: func(s *corev1.Service) fields.Set {
			return fields.Set{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
		},
		validate:       validation.ValidateService,
		validateUpdate: validation.ValidateServiceUpdate,
		validateStatus: validation.ValidateServiceStatusUpdate,
	}
}

// keepClusterIP gives a manifest that leaves the address out, sent again, the address that the Service has.
func keepClusterIP(spec, old *corev1.ServiceSpec) {
	if old.Type != corev1.ServiceTypeExternalName && spec.ClusterIP == "" && len(spec.ClusterIPs) == 0 {
		spec.ClusterIP, spec.ClusterIPs = old.ClusterIP, old.ClusterIPs
	}
}

// pairClusterIPs makes clusterIPs begin with clusterIP for clients that set only one of the two; old is nil at creation.
func pairClusterIPs(spec, old *corev1.ServiceSpec) {
	switch {
	case old != nil && spec.ClusterIP == "" && old.ClusterIP != "" && len(spec.ClusterIPs) > 0 && spec.ClusterIPs[0] == old.ClusterIP:
		spec.ClusterIPs = nil // a client that knows only the older field has removed it
	case spec.ClusterIP != "" && len(spec.ClusterIPs) == 0:
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
}
