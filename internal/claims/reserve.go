package claims

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// Reservation is what a claim's status must gain before a pod may use it.
type Reservation struct {
	// Add is the entry to append to status.reservedFor; nil when none is needed.
	Add *resourcev1.ResourceClaimConsumerReference
	// AnyPod: status.allocation.reservedForAnyPod becomes true with it.
	AnyPod bool
}

// Reserve says who is to stand in status.reservedFor for this use of the claim
// (R15): the PodGroup, once, for a group claim; with spec.reservedFor and an
// empty list that reference; else the pod. Nothing is added when the pod is covered
// by what stands there. Group is the pod's PodGroup; it must be given for a
// resolution through the group.
func Reserve(pod *core.Pod, group *scheduling.PodGroup, r Resolution, claim *resource.ResourceClaim) (Reservation, *Problem) {
	consumer := PodConsumer(pod)
	if r.ThroughGroup {
		if group == nil {
			name, _ := GroupName(pod)
			return Reservation{}, &Problem{Reason: GroupMissing, Entry: r.Entry, Object: name}
		}
		// A running pod may still have the claim of a PodGroup that had the name before (F19).
		if _, uid, generated := OwnerGroup(claim); !generated || uid == group.UID {
			consumer = GroupConsumer(group)
		}
	}
	list := claim.Status.ReservedFor
	switch {
	case holds(list, consumer), !r.ThroughGroup && coversAnyPod(claim):
		return Reservation{}, nil
	case len(list) >= resourcev1.ResourceClaimReservedForMaxSize:
		return Reservation{}, &Problem{Reason: ReservationFull, Entry: r.Entry, Object: claim.Name}
	case !r.ThroughGroup && claim.Spec.ReservedFor != nil && len(list) == 0 && !anyPod(claim):
		// Once copied and taken off again by its owner, the reference is not put back:
		// the owner has said that it is done.
		return Reservation{Add: ptr.To(*claim.Spec.ReservedFor), AnyPod: true}, nil
	}
	return Reservation{Add: &consumer}, nil
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

// coversAnyPod: the allocation is for any pod, and somebody other than a pod holds it.
func coversAnyPod(claim *resource.ResourceClaim) bool {
	return anyPod(claim) && slices.ContainsFunc(claim.Status.ReservedFor, func(ref resourcev1.ResourceClaimConsumerReference) bool {
		return !IsPodConsumer(ref)
	})
}

func holds(list []resourcev1.ResourceClaimConsumerReference, ref resourcev1.ResourceClaimConsumerReference) bool {
	return slices.ContainsFunc(list, func(in resourcev1.ResourceClaimConsumerReference) bool {
		return in.UID == ref.UID && in.Resource == ref.Resource && in.APIGroup == ref.APIGroup
	})
}
