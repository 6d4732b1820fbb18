package restore

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A Service of a dual-stack cluster with a node port gets what the new server has.
func TestServicesAreRestoredWithoutAddresses(t *testing.T) {
	policy := corev1.IPFamilyPolicyRequireDualStack
	s := &corev1.Service{Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "a"}, IPFamilyPolicy: &policy, HealthCheckNodePort: 40001,
		IPFamilies: []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol},
		Ports:      []corev1.ServicePort{{Port: 80, NodePort: 40000}},
	}}
	got := withoutAddresses([]*corev1.Service{s})[0].Spec
	if got.IPFamilies != nil || got.IPFamilyPolicy != nil || got.HealthCheckNodePort != 0 || got.Ports[0].NodePort != 0 ||
		got.Ports[0].Port != 80 || got.Selector["app"] != "a" {
		t.Errorf("restored as %+v", got)
	}
	if s.Spec.Ports[0].NodePort != 40000 {
		t.Error("the snapshot is changed")
	}
}
