package endpoints

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	managedByLabel = "endpoints.kubernetes.io/managed-by"
	managedBy      = "endpoint-controller"
	truncated      = "truncated"
)

// desired returns the Endpoints that a Service must have, with the metadata of those that exist, or
// nil if those are right. existing is nil if there are none.
func desired(service *corev1.Service, pods []*corev1.Pod, existing *legacy, trigger time.Time) *legacy {
	subsets, cut := truncate(subsetsOf(service, pods))
	labels := labelsOf(service)
	if existing != nil && equality.Semantic.DeepEqual(existing.Subsets, subsets) &&
		maps.Equal(existing.Labels, labels) && (existing.Annotations[corev1.EndpointsOverCapacity] == truncated) == cut {
		return nil
	}
	out := &legacy{ObjectMeta: metav1.ObjectMeta{Namespace: service.Namespace, Name: service.Name}}
	if existing != nil {
		out = existing.DeepCopy()
	}
	out.Subsets, out.Labels = subsets, labels
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	delete(out.Annotations, corev1.EndpointsLastChangeTriggerTime)
	if !trigger.IsZero() {
		out.Annotations[corev1.EndpointsLastChangeTriggerTime] = trigger.UTC().Format(time.RFC3339Nano)
	}
	delete(out.Annotations, corev1.EndpointsOverCapacity)
	if cut {
		out.Annotations[corev1.EndpointsOverCapacity] = truncated
	}
	return out
}

func labelsOf(service *corev1.Service) map[string]string {
	labels := maps.Clone(service.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	delete(labels, corev1.IsHeadlessService)
	if service.Spec.ClusterIP == "" || service.Spec.ClusterIP == corev1.ClusterIPNone {
		labels[corev1.IsHeadlessService] = ""
	}
	labels[managedByLabel] = managedBy
	return labels
}
