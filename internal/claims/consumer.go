package claims

import (
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

const (
	schedulingGroup = "scheduling.k8s.io"
	podsResource    = "pods"
	groupsResource  = "podgroups"
)

// PodConsumer returns the entry of status.reservedFor for the pod.
func PodConsumer(pod *core.Pod) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: podsResource, Name: pod.Name, UID: pod.UID}
}

// GroupConsumer returns the entry of status.reservedFor for the PodGroup.
func GroupConsumer(group *scheduling.PodGroup) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{
		APIGroup: schedulingGroup,
		Resource: groupsResource,
		Name:     group.Name,
		UID:      group.UID,
	}
}

// IsPodConsumer reports whether the consumer is a pod.
func IsPodConsumer(ref resourcev1.ResourceClaimConsumerReference) bool {
	return ref.APIGroup == corev1.GroupName && ref.Resource == podsResource
}

// IsGroupConsumer reports whether the consumer is a PodGroup.
func IsGroupConsumer(ref resourcev1.ResourceClaimConsumerReference) bool {
	return ref.APIGroup == schedulingGroup && ref.Resource == groupsResource
}

// PodDone reports whether no container of the pod runs or will run: the pod has finished, was
// deleted before it was scheduled, or its deletion is complete except for finalizers. In the last
// case its claims must not wait for the pod, because with foreground deletion the pod waits for its
// claims.
func PodDone(pod *core.Pod) bool {
	if pod.Finished() {
		return true
	}
	return pod.DeletionTimestamp != nil && (pod.Spec.NodeName == "" || ptr.Deref(pod.DeletionGracePeriodSeconds, -1) == 0)
}

// mayRun reports whether containers of the pod may be running.
func mayRun(pod *core.Pod) bool { return pod.Spec.NodeName != "" && !PodDone(pod) }

// mayBeBound reports whether a scheduler may be binding the pod.
func mayBeBound(pod *core.Pod) bool {
	return pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 && !PodDone(pod)
}
