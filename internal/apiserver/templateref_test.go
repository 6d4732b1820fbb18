package apiserver_test

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestContradictingTemplateReference creates a PodGroup whose two forms of reference name different
// templates (P22).
func TestContradictingTemplateReference(t *testing.T) {
	groups := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1alpha2", Resource: "podgroups"}
	for _, tt := range []struct {
		field, workload, template string
	}{
		{"spec.podGroupTemplateRef.workload.workloadName", "other", "t"},
		{"spec.podGroupTemplateRef.workload.podGroupTemplateName", "w", "other"},
	} {
		t.Run(tt.field, func(t *testing.T) {
			obj := &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": groups.GroupVersion().String(), "kind": "PodGroup", "metadata": map[string]any{"name": "x"},
				"spec": map[string]any{
					"schedulingPolicy": map[string]any{"basic": map[string]any{}},
					"podGroupTemplateRef": map[string]any{
						"workloadName": "w", "podGroupTemplateName": "t",
						"workload": map[string]any{"workloadName": tt.workload, "podGroupTemplateName": tt.template},
					},
				},
			}}
			_, err := dynamicClient(t).Resource(groups).Namespace(namespace(t)).Create(t.Context(), obj, metav1.CreateOptions{})
			var status *apierrors.StatusError
			if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
				t.Fatalf("got %v, want 422", err)
			}
			if causes := status.ErrStatus.Details.Causes; len(causes) != 1 || causes[0].Field != tt.field {
				t.Errorf("got %v, want one cause at %s", causes, tt.field)
			}
		})
	}
}
