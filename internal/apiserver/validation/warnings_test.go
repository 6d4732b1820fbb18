package validation

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
)

// TestClaimWarnings checks the warnings about claims that 1.37 accepts although they can never be
// satisfied (P12), in both forms of a request.
func TestClaimWarnings(t *testing.T) {
	exact := resourcev1.DeviceAllocationModeExactCount
	tolerations := []resourcev1.DeviceToleration{
		{Operator: resourcev1.DeviceTolerationOpExists},
		{Operator: resourcev1.DeviceTolerationOpEqual, Value: "v"},
		{Key: "k", Operator: resourcev1.DeviceTolerationOpEqual, Value: "v"},
	}
	capacity := &resourcev1.CapacityRequirements{Requests: map[resourcev1.QualifiedName]apiresource.Quantity{
		"memory": apiresource.MustParse("-1"), "cores": apiresource.MustParse("0"),
	}}
	spec := &resource.ResourceClaimSpec{}
	spec.Devices.Requests = []resourcev1.DeviceRequest{
		{
			Name: "a",
			Exactly: &resourcev1.ExactDeviceRequest{
				AllocationMode: exact,
				Count:          33,
				Tolerations:    tolerations,
				Capacity:       capacity,
			},
		},
		{Name: "b", FirstAvailable: []resourcev1.DeviceSubRequest{
			{Name: "fits", AllocationMode: exact, Count: 32},
			{Name: "c", AllocationMode: exact, Count: 33, Tolerations: tolerations, Capacity: capacity},
		}},
	}
	want := []string{
		"spec.devices.requests[0].exactly.count: ",
		"spec.devices.requests[0].exactly.tolerations[1]: ",
		"spec.devices.requests[0].exactly.capacity.requests[memory]: ",
		"spec.devices.requests[1].firstAvailable[1].count: ",
		"spec.devices.requests[1].firstAvailable[1].tolerations[1]: ",
		"spec.devices.requests[1].firstAvailable[1].capacity.requests[memory]: ",
	}
	wantPaths(t, ClaimWarnings(field.NewPath("spec"), spec), want)
}

func TestPodWarnings(t *testing.T) {
	term := corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: "a", Operator: corev1.NodeSelectorOpGt, Values: []string{"7"}},
		{Key: "b", Operator: corev1.NodeSelectorOpLt, Values: []string{"few"}},
		{Key: "c", Operator: corev1.NodeSelectorOpIn, Values: []string{"few"}},
	}}
	pod := &core.Pod{}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{}, term},
		},
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{{Weight: 1, Preference: term}},
	}}
	at := "spec.affinity.nodeAffinity."
	wantPaths(t, PodWarnings(pod, nil), []string{
		at + "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[1].matchExpressions[1].values[0]: ",
		at + "preferredDuringSchedulingIgnoredDuringExecution[0].preference.matchExpressions[1].values[0]: ",
	})
	if got := PodWarnings(pod, pod.DeepCopy()); len(got) > 0 {
		t.Errorf("got %q for what was there already, want none", got)
	}
}

// wantPaths compares the fields of warnings.
func wantPaths(t *testing.T, got, want []string) {
	t.Helper()
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got %q, want %q", got, want)
	}
}
