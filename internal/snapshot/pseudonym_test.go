package snapshot_test

import (
	"bytes"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/snapshot"
)

// No name is left, and references and selectors mean the same as before.
func TestPseudonymize(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "secret-node", Labels: map[string]string{
		corev1.LabelHostname: "secret-node", "secret.example.com/team": "secret-team", corev1.LabelOSStable: "linux",
	}}}
	node.Spec.Taints = []corev1.Taint{{Key: "secret-taint", Value: "secret-team", Effect: corev1.TaintEffectNoSchedule}}
	p := pod("secret-namespace", "secret-pod")
	p.Spec.NodeName, p.Spec.NodeSelector = "secret-node", map[string]string{"secret.example.com/team": "secret-team"}
	p.Spec.Tolerations = []corev1.Toleration{{Key: "secret-taint", Value: "secret-team"}}
	p.Spec.Containers[0].Image = "registry.example.com/secret-image"
	entry := core.PodResourceClaim{}
	entry.Name, entry.ResourceClaimName = "gpu", ptr.To("secret-claim")
	p.Spec.ResourceClaims = []core.PodResourceClaim{entry}
	claim := &resource.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "secret-namespace", Name: "secret-claim"}}
	claim.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{
		{Resource: "pods", Name: "secret-pod", UID: "u"},
	}

	s := take(node, p, claim)
	names, err := s.Pseudonymize()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := s.Write(&out, snapshot.YAML); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out.String(), "secret") {
		t.Errorf("names are left:\n%s", out.String())
	}
	renamed, labels := s.Objects.Pods[0], s.Objects.Nodes[0].Labels
	for key, value := range renamed.Spec.NodeSelector {
		if labels[key] != value {
			t.Errorf("the pod selects %s=%s, the node has %v", key, value, labels)
		}
	}
	switch {
	case renamed.Spec.NodeName != s.Objects.Nodes[0].Name, labels[corev1.LabelHostname] != s.Objects.Nodes[0].Name:
		t.Error("the node has two pseudonyms")
	case *renamed.Spec.ResourceClaims[0].ResourceClaimName != s.Objects.Claims[0].Name,
		renamed.Namespace != s.Objects.Claims[0].Namespace:
		t.Error("the claim has two pseudonyms")
	case s.Objects.Claims[0].Status.ReservedFor[0].Name != renamed.Name || names.Of("pod", "secret-pod") != renamed.Name:
		t.Error("the pod has two pseudonyms")
	case renamed.Spec.Tolerations[0].Key != s.Objects.Nodes[0].Spec.Taints[0].Key,
		renamed.Spec.Tolerations[0].Value != s.Objects.Nodes[0].Spec.Taints[0].Value:
		t.Error("the taint is not tolerated any more")
	case labels[corev1.LabelOSStable] != "linux" || renamed.Spec.ResourceClaims[0].Name != "gpu":
		t.Error("what must stay was renamed")
	}
}
