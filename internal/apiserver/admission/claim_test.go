package admission

import (
	"errors"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

func adminSpec() resource.ResourceClaimSpec {
	return resource.ResourceClaimSpec{
		ResourceClaimSpec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "plain", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu"}},
			{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AdminAccess: new(true)}},
			{Name: "not", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AdminAccess: new(false)}},
			{
				Name: "all",
				Exactly: &resourcev1.ExactDeviceRequest{
					DeviceClassName: "gpu",
					AdminAccess:     new(true),
					AllocationMode:  resourcev1.DeviceAllocationModeAll,
				},
			},
			{Name: "some", FirstAvailable: []resourcev1.DeviceSubRequest{{Name: "a", DeviceClassName: "gpu"}}},
		}}},
	}
}

// TestAdminAccessByNamespaceLabel checks that only the label value "true" permits admin access
// (F53).
func TestAdminAccessByNamespaceLabel(t *testing.T) {
	claim, template := &resource.ResourceClaim{
		Spec: adminSpec(),
	}, &resource.ResourceClaimTemplate{
		Spec: resource.ResourceClaimTemplateSpec{Spec: adminSpec()},
	}
	refused := func(at string) []string {
		return []string{at + "[1].exactly.adminAccess", at + "[3].exactly.adminAccess"}
	}
	tests := []struct {
		name    string
		obj     runtime.Object
		kind    string
		version string
		label   string
		want    []string
	}{
		{"claim, no label", claim, "ResourceClaim", "v1", "", refused("spec.devices.requests")},
		{"claim, True", claim, "ResourceClaim", "v1", "True", refused("spec.devices.requests")},
		{"claim, true", claim, "ResourceClaim", "v1", "true", nil},
		{"template, no label", template, "ResourceClaimTemplate", "v1", "", refused("spec.spec.devices.requests")},
		{"template, 1", template, "ResourceClaimTemplate", "v1beta2", "1", refused("spec.spec.devices.requests")},
		{"template, true", template, "ResourceClaimTemplate", "v1beta2", "true", nil},
		{
			"old claim, no label",
			claim,
			"ResourceClaim",
			"v1beta1",
			"",
			[]string{"spec.devices.requests[1].adminAccess", "spec.devices.requests[3].adminAccess"},
		},
		{"nothing asked for", &resource.ResourceClaim{}, "ResourceClaim", "v1", "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := world{namespaces: map[string]corev1.NamespacePhase{"ns": corev1.NamespaceActive}}
			if tt.label != "" {
				w.labels = map[string]string{resourcev1.DRAAdminNamespaceLabelKey: tt.label}
			}
			gv := schema.GroupVersion{Group: resourcev1.GroupName, Version: tt.version}
			plural := strings.ToLower(tt.kind) + "s"
			a := admission.NewAttributesRecord(tt.obj, nil, gv.WithKind(tt.kind), "ns", "x", gv.WithResource(plural), "",
				admission.Create, nil, false, nil)
			err := New(w, Rules{}).Admit(t.Context(), a, nil)
			var got []string
			var status apierrors.APIStatus
			if errors.As(err, &status) {
				for _, cause := range status.Status().Details.Causes {
					got = append(got, cause.Field)
				}
				if !strings.Contains(err.Error(), resourcev1.DRAAdminNamespaceLabelKey+": true") {
					t.Errorf("%v does not name the label", err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
