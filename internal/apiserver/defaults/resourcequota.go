package defaults

import (
	corev1 "k8s.io/api/core/v1"
)

// ResourceQuota rounds quantities.
func ResourceQuota(q *corev1.ResourceQuota) {
	quantities(q.Spec.Hard)
	quantities(q.Status.Hard)
	quantities(q.Status.Used)
}
