package model

// Use is one use of a claim by a pod.
type Use struct {
	// Consumer is the pod, or its PodGroup if ThroughGroup.
	Consumer     Consumer
	ThroughGroup bool
	// Allocates: the claim gets its devices for this use.
	Allocates bool
}

// Reservation is what status.reservedFor must gain before the claim may be used so (SPEC R15); needed is false when
// nothing is to be added.
//
//   - Through a group claim it is the PodGroup, once, whatever spec.reservedFor says: the PodGroup's end is watched,
//     that of another object is not.
//   - Else, with spec.reservedFor, it is that reference, copied when the claim is allocated, for any pod (K5194). Not
//     later: reservedForAnyPod is a part of the allocation, which does not change; and a reference that its owner has
//     taken off is not put back.
//   - Else it is the pod, unless the claim is for any pod and something that is no pod holds it.
func (c *Claim) Reservation(u Use) (add Consumer, anyPod, needed bool) {
	switch {
	case c.HasConsumer(u.Consumer):
		return Consumer{}, false, false
	case u.ThroughGroup:
		return u.Consumer, false, true
	case c.Allocation != nil && c.Allocation.ReservedForAnyPod && c.HasNonPodConsumer():
		return Consumer{}, false, false
	case u.Allocates && c.ReservedFor != nil && len(c.Consumers) == 0:
		return *c.ReservedFor, true, true
	}
	return u.Consumer, false, true
}
