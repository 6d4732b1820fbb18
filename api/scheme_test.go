package api

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

func decode(t *testing.T, manifest string) runtime.Object {
	t.Helper()
	obj, _, err := Codecs.UniversalDeserializer().Decode([]byte(manifest), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return obj
}

func TestPodKeepsTheAddedFieldsInProtobuf(t *testing.T) {
	pod := decode(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],
		"schedulingGroup":{"podGroupName":"g"},"resourceClaims":[{"name":"r","podGroupResourceClaim":"x"},{"name":"s","clusterResourceClaimTemplateName":"t"}]}}`).(*core.Pod)
	if got := pod.Spec.ResourceClaims[0].PodGroupResourceClaim; got == nil || *got != "x" {
		t.Fatalf("podGroupResourceClaim = %v, want x", got)
	}
	data, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	back := &core.Pod{}
	if err := back.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	back.TypeMeta = pod.TypeMeta // protobuf carries it in the envelope
	if diff := cmp.Diff(pod, back); diff != "" {
		t.Errorf("round trip (-want +got):\n%s", diff)
	}
}

// Both spellings of a template reference are accepted; the nested one is returned (R4).
func TestPodGroupTemplateReferenceForms(t *testing.T) {
	for name, ref := range map[string]string{
		"flat (KEP-5729)":   `{"workloadName":"w","podGroupTemplateName":"t"}`,
		"nested (KEP-5832)": `{"workload":{"workloadName":"w","podGroupTemplateName":"t"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			obj := decode(
				t,
				`{"apiVersion":"scheduling.k8s.io/v1alpha2","kind":"PodGroup","metadata":{"name":"g"},"spec":{"podGroupTemplateRef":`+ref+`,"disruptionMode":"PodGroup"}}`,
			)
			hub, err := Scheme.ConvertToVersion(obj,
				schema.GroupVersion{Group: schedulingv1beta1.GroupName, Version: runtime.APIVersionInternal})
			if err != nil {
				t.Fatal(err)
			}
			spec := hub.(*scheduling.PodGroup).Spec
			if want := (schedulingv1beta1.WorkloadReference{WorkloadName: "w", TemplateName: "t"}); *spec.WorkloadRef != want {
				t.Errorf("workloadRef = %v, want %v", *spec.WorkloadRef, want)
			}
			if spec.DisruptionMode.All == nil {
				t.Errorf("disruptionMode = %v, want all", spec.DisruptionMode)
			}
		})
	}
}

// TestContradictingTemplateReferenceIsNoName checks a reference whose two forms differ (P22):
// neither is used, and the result is not a valid name.
func TestContradictingTemplateReferenceIsNoName(t *testing.T) {
	obj := decode(t, `{"apiVersion":"scheduling.k8s.io/v1alpha2","kind":"PodGroup","metadata":{"name":"g"},
		"spec":{"podGroupTemplateRef":{"workloadName":"w","podGroupTemplateName":"t","workload":{"workloadName":"other","podGroupTemplateName":"t"}}}}`)
	hub, err := Scheme.ConvertToVersion(obj,
		schema.GroupVersion{Group: schedulingv1beta1.GroupName, Version: runtime.APIVersionInternal})
	if err != nil {
		t.Fatal(err)
	}
	ref := hub.(*scheduling.PodGroup).Spec.WorkloadRef
	if want := (schedulingv1beta1.WorkloadReference{WorkloadName: "w or other", TemplateName: "t"}); *ref != want {
		t.Errorf("workloadRef = %v, want %v", *ref, want)
	}
}
