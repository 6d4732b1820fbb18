package defaults

import (
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// NetworkPolicy sets the protocols of ports, and the directions that its rules are for.
func NetworkPolicy(p *networkingv1.NetworkPolicy) {
	for i := range p.Spec.Ingress {
		policyPorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		policyPorts(p.Spec.Egress[i].Ports)
	}
	if len(p.Spec.PolicyTypes) > 0 {
		return
	}
	p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
	if len(p.Spec.Egress) > 0 {
		p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
	}
}

func policyPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		orNew(&ports[i].Protocol, corev1.ProtocolTCP)
	}
}

// IngressClass sets the scope of its parameters.
func IngressClass(c *networkingv1.IngressClass) {
	if c.Spec.Parameters != nil {
		orNew(&c.Spec.Parameters.Scope, networkingv1.IngressClassParametersReferenceScopeCluster)
	}
}
