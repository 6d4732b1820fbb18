package dynamicadmission

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
)

func TestResolveService(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "ns", Name: "s"}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Name: "https", Port: 443}},
	}}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns",
			Name:      "s-1",
			Labels:    map[string]string{discoveryv1.LabelServiceName: "s"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("https"), Port: new(int32(8443))}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: new(false)}},
			{Addresses: []string{"192.0.2.2"}},
		},
	}
	manual := &corev1.Endpoints{ //nolint:staticcheck // manifests of the field have them
		ObjectMeta: meta,
		Subsets: []corev1.EndpointSubset{{ //nolint:staticcheck // manifests of the field have them
			Addresses:         []corev1.EndpointAddress{{IP: "192.0.2.3"}},
			NotReadyAddresses: []corev1.EndpointAddress{{IP: "192.0.2.4"}},
			Ports:             []corev1.EndpointPort{{Name: "https", Port: 9443}},
		}},
	}
	external := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeExternalName, ExternalName: "localhost",
	}}
	for _, tt := range []struct {
		name   string
		client *fake.Clientset
		port   int32
		want   string // a host, or an error
	}{
		{"ready endpoint of a slice", fake.NewClientset(service, slice), 443, "192.0.2.2:8443"},
		{"slices before endpoints", fake.NewClientset(service, slice, manual), 443, "192.0.2.2:8443"},
		{"endpoints by hand", fake.NewClientset(service, manual), 443, "192.0.2.3:9443"},
		{"no endpoints", fake.NewClientset(service), 443, `no endpoints available for service "s"`},
		{"other port", fake.NewClientset(service, slice), 80, `no service port 80 found for service "s"`},
		{"external name", fake.NewClientset(external), 9443, "localhost:9443"},
		{"no service", fake.NewClientset(slice), 443, `service "s" not found`},
	} {
		url, err := NewServices(tt.client).ResolveEndpoint("ns", "s", tt.port)
		var got string
		if err != nil {
			got = err.Error()
		} else {
			got = url.Host
		}
		if got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
