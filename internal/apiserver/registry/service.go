package registry

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/registry/rest"
	"k8s.io/utils/ptr"

	"github.com/allot-dev/allot/internal/apiserver/defaults"
	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// services have addresses and node ports that the server allocates. No traffic is routed.
func services(g dependencies) entry {
	return &kind[corev1.Service, *corev1.Service]{
		names: names{
			versions: v1, plural: "services", singular: "service", short: []string{"svc"}, categories: []string{"all"},
			key: "services/specs",
		},
		newList:        func() runtime.Object { return &corev1.ServiceList{} },
		defaults:       defaults.Service,
		printer:        printers.Service,
		class:          rbac.ReadWrite,
		spec:           func(s *corev1.Service) any { return &s.Spec },
		status:         func(s *corev1.Service) any { return &s.Status },
		createOnUpdate: true,
		prepareCreate:  func(_ context.Context, s *corev1.Service) { pairClusterIPs(&s.Spec, nil) },
		prepareUpdate: func(_ context.Context, s, old *corev1.Service) {
			prepareServiceUpdate(s, old)
			if !isBalanced(&s.Spec) {
				s.Status.LoadBalancer = corev1.LoadBalancerStatus{}
			}
		},
		wrap: func(s *storage) rest.Storage {
			out := newServiceStorage(s, g.allocator)
			g.lookup.services = out
			return out
		},
		fields: func(s *corev1.Service) fields.Set {
			return fields.Set{"spec.clusterIP": s.Spec.ClusterIP, "spec.type": string(s.Spec.Type)}
		},
		validate:       validation.ValidateService,
		validateUpdate: validation.ValidateServiceUpdate,
		validateStatus: validation.ValidateServiceStatusUpdate,
	}
}

// prepareServiceUpdate restores what a client has left out, and drops what the new type does not
// have. It is repeatable.
func prepareServiceUpdate(s, old *corev1.Service) {
	if s.Spec.Type != corev1.ServiceTypeExternalName {
		keepClusterIP(&s.Spec, &old.Spec)
	}
	keepNodePorts(&s.Spec, &old.Spec)
	pairClusterIPs(&s.Spec, &old.Spec)
	dropOfType(&s.Spec, &old.Spec)
}

// keepClusterIP restores the address if a client sends a manifest without it again.
func keepClusterIP(spec, old *corev1.ServiceSpec) {
	if old.Type == corev1.ServiceTypeExternalName {
		return
	}
	if spec.ClusterIP == "" {
		spec.ClusterIP = old.ClusterIP
	}
	if len(spec.ClusterIPs) == 0 {
		spec.ClusterIPs = old.ClusterIPs
	}
}

// pairClusterIPs sets the first of clusterIPs to clusterIP for clients that know only the older
// field; old is nil for a new Service.
func pairClusterIPs(spec, old *corev1.ServiceSpec) {
	if old == nil {
		if spec.ClusterIP != "" && len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = []string{spec.ClusterIP}
		}
		return
	}
	switch same := slices.Equal(spec.ClusterIPs, old.ClusterIPs); {
	case spec.ClusterIP == old.ClusterIP:
		if len(spec.ClusterIPs) == 0 {
			spec.ClusterIPs = old.ClusterIPs
		}
	case same && spec.ClusterIP == "":
		spec.ClusterIPs = nil
	case same:
		spec.ClusterIPs = []string{spec.ClusterIP}
	}
}

// dropOfType drops fields that the old type of a Service supports and the new one does not, if the
// client did not change them.
func dropOfType(spec, old *corev1.ServiceSpec) {
	ends := func(knows func(*corev1.ServiceSpec) bool) bool { return knows(old) && !knows(spec) }
	if ends(hasClusterIP) {
		if spec.ClusterIP == old.ClusterIP && slices.Equal(spec.ClusterIPs, old.ClusterIPs) {
			spec.ClusterIP, spec.ClusterIPs = "", nil
		}
		if slices.Equal(spec.IPFamilies, old.IPFamilies) {
			spec.IPFamilies = nil
		}
		dropSame(&spec.IPFamilyPolicy, old.IPFamilyPolicy)
	}
	if ends(hasNodePorts) && !addsNodePort(spec, old) {
		for i := range spec.Ports {
			spec.Ports[i].NodePort = 0
		}
	}
	if ends(isBalanced) {
		dropSame(&spec.AllocateLoadBalancerNodePorts, old.AllocateLoadBalancerNodePorts)
		dropSame(&spec.LoadBalancerClass, old.LoadBalancerClass)
	}
	if ends(hasHealthCheck) && spec.HealthCheckNodePort == old.HealthCheckNodePort {
		spec.HealthCheckNodePort = 0
	}
	if ends(isReachable) && spec.ExternalTrafficPolicy == old.ExternalTrafficPolicy {
		spec.ExternalTrafficPolicy = ""
	}
}

func hasClusterIP(spec *corev1.ServiceSpec) bool { return spec.Type != corev1.ServiceTypeExternalName }

func isBalanced(spec *corev1.ServiceSpec) bool { return spec.Type == corev1.ServiceTypeLoadBalancer }

func hasNodePorts(spec *corev1.ServiceSpec) bool {
	return isBalanced(spec) || spec.Type == corev1.ServiceTypeNodePort
}

func hasHealthCheck(spec *corev1.ServiceSpec) bool {
	return isBalanced(spec) && spec.ExternalTrafficPolicy == corev1.ServiceExternalTrafficPolicyLocal
}

// isReachable reports whether a Service is reached from outside the cluster.
func isReachable(spec *corev1.ServiceSpec) bool {
	return hasNodePorts(spec) || spec.Type == corev1.ServiceTypeClusterIP && len(spec.ExternalIPs) > 0
}

func addsNodePort(spec, old *corev1.ServiceSpec) bool {
	had := map[int32]bool{0: true}
	for _, p := range old.Ports {
		had[p.NodePort] = true
	}
	return slices.ContainsFunc(spec.Ports, func(p corev1.ServicePort) bool { return !had[p.NodePort] })
}

func dropSame[T comparable](field **T, old *T) {
	if ptr.Equal(*field, old) {
		*field = nil
	}
}
