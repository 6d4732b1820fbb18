package quantity

import (
	"reflect"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestIsTooLarge(t *testing.T) {
	for text, want := range map[string]bool{
		"0": false, "1": false, "-1": false, "1Ei": false, "9223372036854775808": false, "1e30": false, "1e-9": false,
		"1e900":  false,
		"1e1001": true, "-1e1001": true, "1.5e10000000": true, "1e2000000000": true, "0e2000000000": true,
	} {
		if got := IsTooLarge(resource.MustParse(text)); got != want {
			t.Errorf("%s: got %t, want %t", text, got, want)
		}
	}
}

// TestTooLarge checks that quantities are found in maps, behind pointers, in lists and in embedded
// structs.
func TestTooLarge(t *testing.T) {
	large := resource.MustParse("1e2000000000")
	list := corev1.ResourceList{"cpu": large, "memory": resource.MustParse("1Gi")}
	pod := &corev1.Pod{Spec: corev1.PodSpec{
		Overhead:   list,
		Containers: []corev1.Container{{}, {Resources: corev1.ResourceRequirements{Requests: list}}},
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &large}}},
		},
	}}
	wantTooLarge(t, pod, "spec.containers[1].resources.requests[cpu]", "spec.overhead[cpu]", "spec.volumes[0].emptyDir.sizeLimit")
	slice := &resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{Devices: []resourcev1.Device{{
		Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
			"memory": {Value: large, RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: &large}},
		},
	}}}}
	wantTooLarge(t, slice, "spec.devices[0].capacity[memory].requestPolicy.default", "spec.devices[0].capacity[memory].value")
	wantTooLarge(t, &corev1.Pod{})
	wantTooLarge(t, &corev1.List{Items: []runtime.RawExtension{{}, {Object: slice}}},
		"items[1].spec.devices[0].capacity[memory].requestPolicy.default",
		"items[1].spec.devices[0].capacity[memory].value")
}

// TestTypesThatContainThemselves checks that quantities in recursive types are found.
func TestTypesThatContainThemselves(t *testing.T) {
	type node struct {
		Left  *node              `json:"left"`
		Right map[string]*node   `json:"right"`
		Plain string             `json:"plain"`
		Size  *resource.Quantity `json:"size"`
	}
	large := resource.MustParse("1e2000000000")
	wantTooLarge(t, &node{Left: &node{Right: map[string]*node{"a": {Size: &large}}}}, "left.right[a].size")
}

func wantTooLarge(t *testing.T, obj any, fields ...string) {
	t.Helper()
	var got []string
	for _, err := range NewFinder(reflect.TypeOf(obj)).TooLarge(obj) {
		got = append(got, err.Field)
	}
	if !slices.Equal(got, fields) {
		t.Errorf("got %q, want %q", got, fields)
	}
}
