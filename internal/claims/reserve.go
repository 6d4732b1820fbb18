package claims

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
)

// Reserve returns the consumer to add to status.reservedFor of an allocated claim for this use
// (R15), or nil if the pod is already covered. group is the pod's PodGroup, and required if the
// claim is used through the group. The rule is that of the scheduler, model.Claim.Reservation.
func Reserve(
	pod *core.Pod, group *scheduling.PodGroup, r Resolution, claim *resource.ResourceClaim,
) (*resourcev1.ResourceClaimConsumerReference, *Problem) {
	use := model.Use{Consumer: PodConsumer(pod)}
	if r.ThroughGroup && !isOfTree(claim) {
		if group == nil {
			name, _ := GroupName(pod)
			return nil, &Problem{Reason: GroupMissing, Entry: r.Entry, Object: name}
		}
		use.ThroughGroup = true
		// A running pod may still use the claim of a previous PodGroup with the same name (F19).
		if _, uid, generated := OwnerGroup(claim); !generated || uid == group.UID {
			use.Consumer = GroupConsumer(group)
		}
	}
	as := model.Claim{
		ReservedFor: claim.Spec.ReservedFor, Consumers: claim.Status.ReservedFor,
		Allocation: &model.Allocation{ReservedForAnyPod: anyPod(claim)},
	}
	add, _, needed := as.Reservation(use)
	switch {
	case !needed:
		return nil, nil
	case len(claim.Status.ReservedFor) >= model.MaxConsumers:
		return nil, &Problem{Reason: ReservationFull, Entry: r.Entry, Object: claim.Name}
	}
	return &add, nil
}

// NeedsReservation reports whether the controller must reserve the claim for a pod that was
// scheduled without a reservation. A pod that is done is never added again (F15), and an
// unscheduled pod is left to the scheduler.
func NeedsReservation(pod *core.Pod, claim *resource.ResourceClaim) bool {
	return mayRun(pod) && claim.Status.Allocation != nil && CanRun(pod, claim) != nil
}

// CanRun returns the reason why the node may not run the pod with the claim, or nil (R39).
// PodGroups are compared by name, as in K5729: a pod does not have the UID of its PodGroup, and the
// finalizer ensures that the PodGroup outlives its pods.
func CanRun(pod *core.Pod, claim *resource.ResourceClaim) *Problem {
	if claim.Status.Allocation == nil {
		return &Problem{Reason: NotAllocated, Object: claim.Name}
	}
	if anyPod(claim) {
		return nil
	}
	if !isReservedFor(claim, pod) {
		return &Problem{Reason: NotReserved, Object: claim.Name}
	}
	return nil
}

// isReservedFor reports whether a consumer of the claim is the pod, or a PodGroup with the name of
// the pod's.
func isReservedFor(claim *resource.ResourceClaim, pod *core.Pod) bool {
	group, member := GroupName(pod)
	return slices.ContainsFunc(claim.Status.ReservedFor, func(ref resourcev1.ResourceClaimConsumerReference) bool {
		return IsPodConsumer(ref) && ref.UID == pod.UID || member && IsGroupConsumer(ref) && ref.Name == group
	})
}

func anyPod(claim *resource.ResourceClaim) bool {
	return claim.Status.Allocation != nil && ptr.Deref(claim.Status.Allocation.ReservedForAnyPod, false)
}

func hasConsumer(list []resourcev1.ResourceClaimConsumerReference, ref resourcev1.ResourceClaimConsumerReference) bool {
	return slices.ContainsFunc(list, func(in resourcev1.ResourceClaimConsumerReference) bool {
		return in.UID == ref.UID && in.Resource == ref.Resource && in.APIGroup == ref.APIGroup
	})
}
