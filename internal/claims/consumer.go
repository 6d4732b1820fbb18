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

// PodConsumer is the entry of status.reservedFor that stands for the pod.
func PodConsumer(pod *core.Pod) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{Resource: podsResource, Name: pod.Name, UID: pod.UID}
}

// GroupConsumer is the entry of status.reservedFor that stands for the PodGroup.
func GroupConsumer(group *scheduling.PodGroup) resourcev1.ResourceClaimConsumerReference {
	return resourcev1.ResourceClaimConsumerReference{APIGroup: schedulingGroup, Resource: groupsResource, Name: group.Name, UID: group.UID}
}

// IsPodConsumer tells whether the entry stands for a pod.
func IsPodConsumer(ref resourcev1.ResourceClaimConsumerReference) bool {
	return ref.APIGroup == corev1.GroupName && ref.Resource == podsResource
}

// IsGroupConsumer tells whether the entry stands for a PodGroup.
func IsGroupConsumer(ref resourcev1.ResourceClaimConsumerReference) bool {
	return ref.APIGroup == schedulingGroup && ref.Resource == groupsResource
}

// PodDone tells that none of the pod's containers runs or ever will: it has
// finished, was deleted before it was scheduled, or its deletion is complete but for
// finalizers. In the last case its own claims must not wait for it, because with
// foreground deletion it waits for them.
func PodDone(pod *core.Pod) bool {
	if pod.Finished() {
		return true
	}
	return pod.DeletionTimestamp != nil && (pod.Spec.NodeName == "" || ptr.Deref(pod.DeletionGracePeriodSeconds, -1) == 0)
}

// mayRun tells that the pod's containers may be running: scheduled, and not done.
func mayRun(pod *core.Pod) bool { return pod.Spec.NodeName != "" && !PodDone(pod) }

// mayBeBound reports whether a bind of the pod may be under way.
func mayBeBound(pod *core.Pod) bool {
	return pod.Spec.NodeName == "" && len(pod.Spec.SchedulingGates) == 0 && !PodDone(pod)
}
