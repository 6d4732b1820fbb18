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

// Reserve says who is to stand in status.reservedFor of an allocated claim for this use of
// it (R15); nil when the pod is covered by what stands there. Group is the pod's
// PodGroup; it must be given for a resolution through the group. The rule is the
// scheduler's, model.Claim.Reservation.
func Reserve(pod *core.Pod, group *scheduling.PodGroup, r Resolution, claim *resource.ResourceClaim) (*resourcev1.ResourceClaimConsumerReference, *Problem) {
	use := model.Use{Consumer: PodConsumer(pod)}
	if r.ThroughGroup {
		if group == nil {
			name, _ := GroupName(pod)
			return nil, &Problem{Reason: GroupMissing, Entry: r.Entry, Object: name}
		}
		use.ThroughGroup = true
		// A running pod may still have the claim of a PodGroup that had the name before (F19).
		if _, uid, generated := OwnerGroup(claim); !generated || uid == group.UID {
			use.Consumer = GroupConsumer(group)
		}
	}
	as := model.Claim{
		ReservedFor: claim.Spec.ReservedFor, Consumers: claim.Status.ReservedFor, Allocation: &model.Allocation{ReservedForAnyPod: anyPod(claim)},
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

// NeedsReservation tells whether the controller has to reserve the claim for a pod
// that was scheduled without it. A pod that is done is never put back (F15), and an
// unscheduled one is the scheduler's.
func NeedsReservation(pod *core.Pod, claim *resource.ResourceClaim) bool {
	return mayRun(pod) && claim.Status.Allocation != nil && CanRun(pod, claim) != nil
}

// CanRun tells, on the node, whether the pod may run with the claim: nil, or why not
// (R39). A PodGroup is compared by name, as K5729 says: a pod does not know the
// UID of its PodGroup, and the finalizer keeps the two together.
func CanRun(pod *core.Pod, claim *resource.ResourceClaim) *Problem {
	if claim.Status.Allocation == nil {
		return &Problem{Reason: NotAllocated, Object: claim.Name}
	}
	if anyPod(claim) {
		return nil
	}
	group, member := GroupName(pod)
	for _, ref := range claim.Status.ReservedFor {
		if IsPodConsumer(ref) && ref.UID == pod.UID || member && IsGroupConsumer(ref) && ref.Name == group {
			return nil
		}
	}
	return &Problem{Reason: NotReserved, Object: claim.Name}
}

func anyPod(claim *resource.ResourceClaim) bool {
	return claim.Status.Allocation != nil && ptr.Deref(claim.Status.Allocation.ReservedForAnyPod, false)
}

func holds(list []resourcev1.ResourceClaimConsumerReference, ref resourcev1.ResourceClaimConsumerReference) bool {
	return slices.ContainsFunc(list, func(in resourcev1.ResourceClaimConsumerReference) bool {
		return in.UID == ref.UID && in.Resource == ref.Resource && in.APIGroup == ref.APIGroup
	})
}
