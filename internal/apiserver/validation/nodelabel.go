package validation

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// deprecatedLabel returns what Kubernetes says about a label of nodes that is deprecated. ok is
// false for other labels.
func deprecatedLabel(key string) (message string, ok bool) {
	var since, use string
	switch key {
	case "beta.kubernetes.io/arch":
		since, use = "1.14", corev1.LabelArchStable
	case "beta.kubernetes.io/os":
		since, use = "1.14", corev1.LabelOSStable
	case corev1.LabelFailureDomainBetaRegion:
		since, use = "1.17", corev1.LabelTopologyRegion
	case corev1.LabelFailureDomainBetaZone:
		since, use = "1.17", corev1.LabelTopologyZone
	case corev1.LabelInstanceType:
		since, use = "1.17", corev1.LabelInstanceTypeStable
	case "app.kubernetes.io/created-by":
		return "deprecated since v1.9", true
	case "scheduler.alpha.kubernetes.io/preferAvoidPods":
		return "deprecated since v1.22; use Taints and Tolerations instead", true
	case "node-role.kubernetes.io/master":
		return `use "node-role.kubernetes.io/control-plane" instead`, true
	default:
		return "", false
	}
	return fmt.Sprintf("deprecated since v%s; use %q instead", since, use), true
}

// nodeSelectorWarnings returns warnings about deprecated labels in a selector of nodes.
func nodeSelectorWarnings(path *field.Path, s *metav1.LabelSelector) []string {
	if s == nil {
		return nil
	}
	var out []string
	for i, r := range s.MatchExpressions {
		if message, ok := deprecatedLabel(r.Key); ok {
			at := path.Child("matchExpressions").Index(i).Child("key")
			out = append(out, fmt.Sprintf("%s: %s is %s", at, r.Key, message))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(s.MatchLabels)) {
		if message, ok := deprecatedLabel(key); ok {
			out = append(out, fmt.Sprintf("%s: %s", path.Child("matchLabels").Child(key), message))
		}
	}
	return out
}
