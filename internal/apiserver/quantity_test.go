package apiserver_test

import (
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// TestQuantitiesWithLargeExponents checks that such quantities are rejected, in
// creations and updates, before they are compared: a comparison would take longer than this test
// may.
func TestQuantitiesWithLargeExponents(t *testing.T) {
	for _, tt := range []struct {
		resource  schema.GroupVersionResource
		good, bad string
		fields    []string
	}{
		{
			resource: schema.GroupVersionResource{Version: "v1", Resource: "pods"},
			good:     `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, image: c}]}}`,
			bad: `{apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [
				{name: c, image: c, resources: {requests: {cpu: "1e10000000"}, limits: {cpu: "1e2000000000"}}}]}}`,
			fields: []string{"spec.containers[0].resources.limits[cpu]", "spec.containers[0].resources.requests[cpu]"},
		},
		{
			resource: schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "resourceclaimtemplates"},
			good: `{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: t}, spec: {spec: {devices: {requests: [
				{name: r, exactly: {deviceClassName: c, capacity: {requests: {memory: 1}}}}]}}}}`,
			bad: `{apiVersion: resource.k8s.io/v1, kind: ResourceClaimTemplate, metadata: {name: t}, spec: {spec: {devices: {requests: [
				{name: r, exactly: {deviceClassName: c, capacity: {requests: {memory: "1e2000000000"}}}}]}}}}`,
			fields: []string{"spec.spec.devices.requests[0].exactly.capacity.requests[memory]"},
		},
	} {
		t.Run(tt.resource.Resource, func(t *testing.T) {
			client := dynamicClient(t).Resource(tt.resource).Namespace(namespace(t))
			_, err := client.Create(t.Context(), object(t, tt.bad), metav1.CreateOptions{})
			wantInvalid(t, err, tt.fields)
			made, err := client.Create(t.Context(), object(t, tt.good), metav1.CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			changed := object(t, tt.bad)
			changed.SetResourceVersion(made.GetResourceVersion())
			_, err = client.Update(t.Context(), changed, metav1.UpdateOptions{})
			wantInvalid(t, err, tt.fields)
		})
	}
}

func object(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		t.Fatal(err)
	}
	return obj
}

func wantInvalid(t *testing.T, err error, fields []string) {
	t.Helper()
	var status *apierrors.StatusError
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		t.Fatalf("got %v, want 422", err)
	}
	var got []string
	for _, cause := range status.ErrStatus.Details.Causes {
		got = append(got, cause.Field)
	}
	if !slices.Equal(got, fields) {
		t.Errorf("got %q, want %q", got, fields)
	}
}
