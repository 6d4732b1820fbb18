package nodelifecycle

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// nodeConditions are the conditions that the node agent reports. NetworkUnavailable is set by other
// components.
var nodeConditions = []corev1.NodeConditionType{
	corev1.NodeReady,
	corev1.NodeMemoryPressure,
	corev1.NodeDiskPressure,
	corev1.NodePIDPressure,
}

// isUnknown reports whether all conditions of the node have the values of a lost node.
func isUnknown(node *corev1.Node) bool {
	return !slices.ContainsFunc(nodeConditions, func(of corev1.NodeConditionType) bool {
		have := condition(node, of)
		return have == nil || have.Status != corev1.ConditionUnknown
	})
}

// withUnknownConditions returns the node with the conditions of a lost node.
func withUnknownConditions(node *corev1.Node, now time.Time) *corev1.Node {
	out := node.DeepCopy()
	for _, of := range nodeConditions {
		switch c := condition(out, of); {
		case c == nil:
			out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{
				Type: of, Status: corev1.ConditionUnknown, Reason: "NodeStatusNeverUpdated",
				Message:           "Kubelet never posted node status.",
				LastHeartbeatTime: node.CreationTimestamp, LastTransitionTime: metav1.NewTime(now),
			})
		case c.Status != corev1.ConditionUnknown:
			c.Status, c.Reason, c.Message = corev1.ConditionUnknown, "NodeStatusUnknown", "Kubelet stopped posting node status."
			c.LastTransitionTime = metav1.NewTime(now)
		}
	}
	return out
}
