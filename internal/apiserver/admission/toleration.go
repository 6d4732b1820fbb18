package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// tolerationSeconds is the time for which a pod stays on a lost node by default.
const tolerationSeconds = 300

// defaultTolerations adds tolerations for a node that is not ready or unreachable for a limited
// time, unless the pod's own tolerations cover them.
func defaultTolerations(pod *core.Pod) {
	for _, key := range []string{corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable} {
		covers := func(t corev1.Toleration) bool {
			return (t.Key == key || t.Key == "") && (t.Effect == corev1.TaintEffectNoExecute || t.Effect == "")
		}
		if slices.ContainsFunc(pod.Spec.Tolerations, covers) {
			continue
		}
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute,
			TolerationSeconds: new(int64(tolerationSeconds)),
		})
	}
}
