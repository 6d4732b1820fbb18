package registry

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/allot-dev/allot/api"
	core "github.com/allot-dev/allot/api/core/v1"
)

// createdPod returns the pod that is stored for a manifest.
func createdPod(t *testing.T, manifest string) *core.Pod {
	t.Helper()
	pod := &core.Pod{}
	if err := yaml.UnmarshalStrict([]byte(manifest), pod); err != nil {
		t.Fatal(err)
	}
	RulesByResource(api.NewScheme())[schema.GroupResource{Resource: "pods"}].Create.PrepareForCreate(context.Background(),
		pod)
	return pod
}

func TestResourcesOfAWholePodAreCompleted(t *testing.T) {
	pod := createdPod(t, `
spec:
  resources: {limits: {memory: 2Gi}, requests: {cpu: 1}}
  containers:
  - {name: a, resources: {limits: {cpu: 2, hugepages-2Mi: 4Mi}, requests: {cpu: 500m, hugepages-2Mi: 4Mi}}}
  - {name: b, resources: {limits: {cpu: 1}, requests: {cpu: 500m, memory: 1Gi}}}
`)
	got, err := yaml.Marshal(pod.Spec.Resources)
	if err != nil {
		t.Fatal(err)
	}
	// The request for huge pages is the sum of the containers', as is that for memory. There is a
	// limit of cpu because each container has one.
	want := `limits:
  cpu: "3"
  hugepages-2Mi: 4Mi
  memory: 2Gi
requests:
  cpu: "1"
  hugepages-2Mi: 4Mi
  memory: 1Gi
`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("resources (-want +got):\n%s", diff)
	}
}

func TestLabelKeysAreMerged(t *testing.T) {
	pod := createdPod(t, `
metadata: {labels: {app: a, version: v1}}
spec:
  topologySpreadConstraints:
  - {topologyKey: zone, matchLabelKeys: [version, absent], labelSelector: {matchLabels: {app: a}}}
  - {topologyKey: zone, matchLabelKeys: [version]}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
      - {weight: 1, podAffinityTerm: {topologyKey: zone, mismatchLabelKeys: [version], labelSelector: {}}}
`)
	in := metav1.LabelSelectorRequirement{Key: "version", Operator: metav1.LabelSelectorOpIn, Values: []string{"v1"}}
	notIn := metav1.LabelSelectorRequirement{Key: "version", Operator: metav1.LabelSelectorOpNotIn, Values: []string{"v1"}}
	spread := pod.Spec.TopologySpreadConstraints
	if diff := cmp.Diff([]metav1.LabelSelectorRequirement{in}, spread[0].LabelSelector.MatchExpressions); diff != "" {
		t.Errorf("matchLabelKeys (-want +got):\n%s", diff)
	}
	if spread[1].LabelSelector != nil {
		t.Error("a selector that was not there was made, and would match pods")
	}
	term := pod.Spec.Affinity.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].PodAffinityTerm
	if diff := cmp.Diff([]metav1.LabelSelectorRequirement{notIn}, term.LabelSelector.MatchExpressions); diff != "" {
		t.Errorf("mismatchLabelKeys (-want +got):\n%s", diff)
	}
}

func TestProfilesInAnnotationsBecomeFields(t *testing.T) {
	pod := createdPod(t, `
metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/a: localhost/mine, container.apparmor.security.beta.kubernetes.io/b: localhost/mine}}
spec:
  containers:
  - {name: a}
  - {name: b, securityContext: {appArmorProfile: {type: Unconfined}}}
`)
	if p := pod.Spec.Containers[0].SecurityContext.AppArmorProfile; p == nil ||
		p.Type != corev1.AppArmorProfileTypeLocalhost ||
		*p.LocalhostProfile != "mine" {
		t.Errorf("got profile %v of the annotation", p)
	}
	if p := pod.Spec.Containers[1].SecurityContext.AppArmorProfile; p.Type != corev1.AppArmorProfileTypeUnconfined {
		t.Errorf("got profile %v, want that of the field", p)
	}
}
