package attach_test

import (
	"os"
	"strings"
	"testing"

	"github.com/google/cel-go/cel"
	"github.com/google/go-cmp/cmp"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/client-go/applyconfigurations"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

// podResource is the resource that the policy matches.
var podResource = schema.GroupVersionResource{Version: "v1", Resource: "pods"}

// condition is an expression with a boolean result.
type condition string

func (c condition) GetExpression() string { return string(c) }

func (condition) ReturnTypes() []*cel.Type { return []*cel.Type{cel.BoolType} }

// shippedPolicy returns the policy of the plain manifests.
func shippedPolicy(t *testing.T) *admissionregistrationv1.MutatingAdmissionPolicy {
	t.Helper()
	text, err := os.ReadFile("../../manifests/policy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var policy admissionregistrationv1.MutatingAdmissionPolicy
		if err := yaml.Unmarshal([]byte(doc), &policy); err == nil && policy.Kind == "MutatingAdmissionPolicy" {
			return &policy
		}
	}
	t.Fatal("no policy")
	return nil
}

// The policy of the chart, evaluated by upstream's code, replaces the placeholder of a group's
// claim by the claim's name in all entries, and changes nothing else.
func TestPolicyNamesGroupClaims(t *testing.T) {
	policy := shippedPolicy(t)
	name := func(s string) *string { return &s }
	pod := &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"allot.dev/pod-group": "train"}},
		Spec: corev1.PodSpec{
			Containers: []corev1.Container{
				{Name: "c", Image: "pause", Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "net"}}}},
			},
			ResourceClaims: []corev1.PodResourceClaim{
				{Name: "gpu", ResourceClaimTemplateName: name("one-gpu")},
				{Name: "net", ResourceClaimName: name("fabric.podgroup.allot.dev")},
				{Name: "direct", ResourceClaimName: name("mine")},
				{Name: "other", ResourceClaimName: name("b.podgroup.allot.dev")},
			},
		},
	}
	got := mutate(t, policy, pod)
	want := pod.DeepCopy()
	want.Spec.ResourceClaims[1].ResourceClaimName = name("train-fabric")
	want.Spec.ResourceClaims[3].ResourceClaimName = name("train-b")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func mutate(t *testing.T, policy *admissionregistrationv1.MutatingAdmissionPolicy, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	interfaces := admission.NewObjectInterfacesFromScheme(clientscheme.Scheme)
	record := admission.NewAttributesRecord(pod, nil, pod.GroupVersionKind(), pod.Namespace, pod.Name,
		podResource, "", admission.Create, &metav1.CreateOptions{}, false, nil)
	attributes, err := admission.NewVersionedAttributes(record, pod.GroupVersionKind(), interfaces)
	if err != nil {
		t.Fatal(err)
	}
	var conditions []plugincel.ExpressionAccessor
	for _, c := range policy.Spec.MatchConditions {
		conditions = append(conditions, condition(c.Expression))
	}
	matched, _, err := compiler.CompileCondition(conditions, plugincel.OptionalVariableDeclarations{},
		environment.StoredExpressions).
		ForInput(
			t.Context(),
			attributes,
			plugincel.CreateAdmissionRequest(record, metav1.GroupVersionResource(podResource),
				metav1.GroupVersionKind(pod.GroupVersionKind())),
			plugincel.OptionalVariableBindings{},
			nil,
			1_000_000,
		)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range matched {
		if m.Error != nil || m.EvalResult.Value() != true {
			t.Fatalf("does not match: %v, %v", m.EvalResult, m.Error)
		}
	}
	evaluator := compiler.CompileMutatingEvaluator(
		&patch.ApplyConfigurationCondition{Expression: policy.Spec.Mutations[0].ApplyConfiguration.Expression},
		plugincel.OptionalVariableDeclarations{HasPatchTypes: true}, environment.StoredExpressions,
	)
	out, err := patch.NewApplyConfigurationPatcher(evaluator).Patch(t.Context(), patch.Request{
		MatchedResource:     podResource,
		VersionedAttributes: attributes,
		ObjectInterfaces:    interfaces,
		TypeConverter:       applyconfigurations.NewTypeConverter(clientscheme.Scheme),
	}, 1_000_000)
	if err != nil {
		t.Fatal(err)
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(out)
	if err != nil {
		t.Fatal(err)
	}
	mutated := &corev1.Pod{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, mutated); err != nil {
		t.Fatal(err)
	}
	return mutated
}
