package defaults

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
)

// Endpoints sets the protocols of ports.
func Endpoints(e *corev1.Endpoints) { //nolint:staticcheck // the kind is deprecated, and Kubernetes 1.37 serves it
	for i := range e.Subsets {
		for j := range e.Subsets[i].Ports {
			orElse(&e.Subsets[i].Ports[j].Protocol, corev1.ProtocolTCP)
		}
	}
}

// EndpointSlice sets the names and protocols of ports.
func EndpointSlice(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		orNew(&s.Ports[i].Name, "")
		orNew(&s.Ports[i].Protocol, corev1.ProtocolTCP)
	}
}
