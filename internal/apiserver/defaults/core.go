package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// Node gives a node that only says what it has the same as what it can give away.
func Node(node *corev1.Node) {
	status := &node.Status
	if status.Allocatable == nil && status.Capacity != nil {
		status.Allocatable = status.Capacity.DeepCopy()
	}
	quantities(status.Capacity)
	quantities(status.Allocatable)
}

// Namespace sets the phase. The label with its own name is the strategy's, since
// a generated name is not known yet when the object is decoded.
func Namespace(namespace *corev1.Namespace) {
	orElse(&namespace.Status.Phase, corev1.NamespaceActive)
}

// Secret sets the type.
func Secret(secret *corev1.Secret) {
	orElse(&secret.Type, corev1.SecretTypeOpaque)
}
