package defaults

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Service sets the type, protocols, ports and traffic policies.
func Service(service *corev1.Service) {
	spec := &service.Spec
	orElse(&spec.SessionAffinity, corev1.ServiceAffinityNone)
	sessionAffinity(spec)
	orElse(&spec.Type, corev1.ServiceTypeClusterIP)
	for i := range spec.Ports {
		p := &spec.Ports[i]
		orElse(&p.Protocol, corev1.ProtocolTCP)
		if p.TargetPort == (intstr.IntOrString{}) || p.TargetPort == intstr.FromString("") {
			p.TargetPort = intstr.FromInt32(p.Port)
		}
	}
	balanced, nodePort := spec.Type == corev1.ServiceTypeLoadBalancer, spec.Type == corev1.ServiceTypeNodePort
	inside := spec.Type == corev1.ServiceTypeClusterIP
	if balanced || nodePort || inside && len(spec.ExternalIPs) > 0 {
		orElse(&spec.ExternalTrafficPolicy, corev1.ServiceExternalTrafficPolicyCluster)
	}
	if balanced || nodePort || inside {
		orNew(&spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	}
	if !balanced {
		return
	}
	orNew(&spec.AllocateLoadBalancerNodePorts, true)
	for i := range service.Status.LoadBalancer.Ingress {
		if in := &service.Status.LoadBalancer.Ingress[i]; in.IP != "" {
			orNew(&in.IPMode, corev1.LoadBalancerIPModeVIP)
		}
	}
}

// sessionAffinity sets the timeout with session affinity, and drops the configuration without it.
func sessionAffinity(spec *corev1.ServiceSpec) {
	switch config := spec.SessionAffinityConfig; {
	case spec.SessionAffinity == corev1.ServiceAffinityNone:
		spec.SessionAffinityConfig = nil
	case spec.SessionAffinity != corev1.ServiceAffinityClientIP:
	case config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil:
		seconds := corev1.DefaultClientIPServiceAffinitySeconds
		spec.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
}
