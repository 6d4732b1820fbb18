package admission

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/admission"

	core "github.com/allot-dev/allot/api/core/v1"
)

func TestDefaultTolerations(t *testing.T) {
	const notReady, unreachable = "not-ready:NoExecute/300", "unreachable:NoExecute/300"
	exists := func(key string, effect corev1.TaintEffect) corev1.Toleration {
		return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
	}
	tests := []struct {
		name  string
		given []corev1.Toleration
		want  string
	}{
		{"none", nil, notReady + " " + unreachable},
		{
			"of something else",
			[]corev1.Toleration{exists("gpu", corev1.TaintEffectNoExecute)},
			"gpu:NoExecute " + notReady + " " + unreachable,
		},
		{
			"of another effect",
			[]corev1.Toleration{exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoSchedule)},
			"not-ready:NoSchedule " + notReady + " " + unreachable,
		},
		{
			"of one",
			[]corev1.Toleration{exists(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute)},
			"not-ready:NoExecute " + unreachable,
		},
		{"of one, for all effects", []corev1.Toleration{exists(corev1.TaintNodeUnreachable, "")}, "unreachable: " + notReady},
		{"of everything", []corev1.Toleration{exists("", "")}, ":"},
		{"of everything that evicts", []corev1.Toleration{exists("", corev1.TaintEffectNoExecute)}, ":NoExecute"},
	}
	chain := New(world{namespaces: map[string]corev1.NamespacePhase{"ns": corev1.NamespaceActive}}, Rules{})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, op := range []admission.Operation{admission.Create, admission.Update} {
				pod := &core.Pod{}
				pod.Spec.Tolerations = tt.given
				if err := chain.Admit(context.Background(), request(pod, "pods", "ns", op), nil); err != nil {
					t.Fatal(err)
				}
				if got := tolerationsOf(pod); got != tt.want {
					t.Errorf("%s: got %s, want %s", op, got, tt.want)
				}
			}
		})
	}
}

func tolerationsOf(pod *core.Pod) string {
	var out []string
	for _, t := range pod.Spec.Tolerations {
		text := strings.TrimPrefix(t.Key, "node.kubernetes.io/") + ":" + string(t.Effect)
		if t.TolerationSeconds != nil {
			text += fmt.Sprintf("/%d", *t.TolerationSeconds)
		}
		out = append(out, text)
	}
	return strings.Join(out, " ")
}
