package apiserver_test

import (
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestInvalidReferencesAreRejected creates objects with references that are not valid names (P11). They are
// rejected as if the referenced object did not exist.
func TestInvalidReferencesAreRejected(t *testing.T) {
	ns := namespace(t)
	pods := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	groups := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1beta1", Resource: "podgroups"}
	older := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1alpha2", Resource: "podgroups"}
	for _, name := range []string{"a/b", "..", ".", "a%b", "no-such"} {
		t.Run(name, func(t *testing.T) {
			containers := []any{map[string]any{"name": "c", "image": "c"}}
			for _, tt := range []struct {
				what     string
				resource schema.GroupVersionResource
				kind     string
				spec     map[string]any
			}{
				{"class of a pod", pods, "Pod", map[string]any{"priorityClassName": name, "containers": containers}},
				{"class of a group", groups, "PodGroup", map[string]any{"priorityClassName": name,
					"schedulingPolicy": map[string]any{"basic": map[string]any{}}}},
				{"Workload", groups, "PodGroup", map[string]any{"workloadRef": map[string]any{"workloadName": name,
					"templateName": "t"}}},
				{"Workload in v1alpha2", older, "PodGroup", map[string]any{
					"podGroupTemplateRef": map[string]any{"workload": map[string]any{"workloadName": name,
						"podGroupTemplateName": name}},
				}},
			} {
				obj := &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": tt.resource.GroupVersion().String(), "kind": tt.kind, "metadata": map[string]any{"name": "x"},
					"spec": tt.spec,
				}}
				_, err := dynamicClient(t).Resource(tt.resource).Namespace(ns).Create(t.Context(), obj, metav1.CreateOptions{})
				if !apierrors.IsForbidden(err) && !apierrors.IsInvalid(err) {
					t.Errorf("%s: got %v, want 403 or 422", tt.what, err)
				}
			}
		})
	}
}

// TestLimitRangeWithoutName checks that the server generates a name for a LimitRange without one,
// as Kubernetes does.
func TestLimitRangeWithoutName(t *testing.T) {
	ns := namespace(t)
	limits := schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}
	obj := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "LimitRange", "spec": map[string]any{"limits": []any{}},
	}}
	made, err := dynamicClient(t).Resource(limits).Namespace(ns).Create(t.Context(), obj, metav1.CreateOptions{})
	if err != nil || made.GetName() == "" {
		t.Errorf("got %v, %v, want a name", made, err)
	}
}
