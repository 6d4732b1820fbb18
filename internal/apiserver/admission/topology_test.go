package admission

import (
	"context"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"

	core "github.com/allot-dev/allot/api/core/v1"
)

// Bound pods get the zone and the region of their node, when they are bound or created (P22).
func TestTopologyLabels(t *testing.T) {
	const zone, region = "topology.kubernetes.io/zone", "topology.kubernetes.io/region"
	chain := New(world{
		namespaces: map[string]corev1.NamespacePhase{"ns": corev1.NamespaceActive},
		nodes: map[string]map[string]string{
			"both": {zone: "a", region: "r", "rack": "1"}, "one": {zone: "a"}, "none": {"rack": "1"},
		},
	}, Rules{})
	for _, tt := range []struct {
		node        string
		given, want map[string]string
	}{
		{"both", nil, map[string]string{zone: "a", region: "r"}},
		{"both", map[string]string{zone: "other", "app": "x"}, map[string]string{zone: "a", region: "r", "app": "x"}},
		{"one", nil, map[string]string{zone: "a"}},
		{"none", nil, nil},
		{"missing", map[string]string{"app": "x"}, map[string]string{"app": "x"}},
		{"", nil, nil},
	} {
		pod := &core.Pod{}
		pod.Labels, pod.Spec.NodeName = maps.Clone(tt.given), tt.node
		admit(t, chain, pod, "", admission.Create)
		if diff := cmp.Diff(tt.want, pod.Labels); diff != "" {
			t.Errorf("pod created on %q: %s", tt.node, diff)
		}
		if tt.node == "" {
			continue
		}
		binding := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: tt.node}}
		binding.Labels = maps.Clone(tt.given)
		admit(t, chain, binding, "binding", admission.Create)
		if diff := cmp.Diff(tt.want, binding.Labels); diff != "" {
			t.Errorf("binding to %q: %s", tt.node, diff)
		}
	}
	pod := &core.Pod{}
	pod.Spec.NodeName = "both"
	admit(t, chain, pod, "", admission.Update)
	if len(pod.Labels) > 0 {
		t.Errorf("an update sets labels %v", pod.Labels)
	}
}

func admit(t *testing.T, chain *Chain, obj runtime.Object, subresource string, op admission.Operation) {
	t.Helper()
	a := admission.NewAttributesRecord(obj, nil, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, "ns", "x",
		schema.GroupVersionResource{Version: "v1", Resource: "pods"}, subresource, op, nil, false, nil)
	if err := chain.Admit(context.Background(), a, nil); err != nil {
		t.Fatal(err)
	}
}
