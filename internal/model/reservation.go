package model

import "fmt"

// Use is one use of a claim by a pod.
type Use struct {
	// Consumer is the pod, or its PodGroup if ThroughGroup.
	Consumer     Consumer
	ThroughGroup bool
	// Allocates: the claim gets its devices for this use.
	Allocates bool
	// Ended: what spec.reservedFor names has ended.
	Ended bool
}

// Reservation is what status.reservedFor must gain before the claim may be used so (SPEC R15); needed is false when
// nothing is to be added.
//
//   - Through a group claim it is the PodGroup, once, whatever spec.reservedFor says: the PodGroup's end is watched,
//     that of another object is not.
//   - Else, with spec.reservedFor, it is that reference, copied when the claim is allocated, for any pod (K5194), unless
//     it names a pod or PodGroup that has ended: that one would be taken off again, and the devices with it. Not
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
	case u.Allocates && c.ReservedFor != nil && !u.Ended && len(c.Consumers) == 0:
		return *c.ReservedFor, true, true
	}
	return u.Consumer, false, true
}

// Cover returns the consumer by which a claim that has one for the use may be used, when nothing has to be reserved.
func (c *Claim) Cover(u Use) (Consumer, bool) {
	if c.HasConsumer(u.Consumer) {
		return u.Consumer, true
	}
	if u.ThroughGroup || c.Allocation == nil || !c.Allocation.ReservedForAnyPod {
		return Consumer{}, false
	}
	for _, consumer := range c.Consumers {
		if !IsPodConsumer(consumer) {
			return consumer, true
		}
	}
	return Consumer{}, false
}

// Ended reports whether a consumer in the namespace is a pod or PodGroup that does not exist, or a pod that has finished,
// as far as the API has shown. Of other kinds nothing is known.
func (s *State) Ended(namespace string, c Consumer) bool {
	key := Key{Namespace: namespace, Name: c.Name}
	switch c {
	case PodConsumer(c.Name, c.UID):
		pod, ok := s.Pods.Get(key)
		return !ok || pod.UID != c.UID || pod.Finished
	case GroupConsumer(c.Name, c.UID):
		group, ok := s.Groups.Get(key)
		return !ok || group.UID != c.UID
	}
	return false
}

// AuditClaims reports a pod that is on a node, or about to be, while the API shows a claim of its without devices and no plan gives
// it any. At times it is so because one cache is ahead of another one; a test whose caches agree checks it after each change.
func (s *State) AuditClaims() error {
	for _, info := range s.Nodes.List() {
		for _, pod := range info.Pods {
			if pod.StandIn || !pod.Live() {
				continue
			}
			for name := range pod.ClaimNames {
				claim, ok := s.Claims.Get(Key{Namespace: pod.Key.Namespace, Name: name})
				if ok && claim.Allocation == nil {
					return fmt.Errorf("pod %s is on node %s, and claim %s has no devices", pod.Key, info.Name, claim.Key)
				}
			}
		}
	}
	return nil
}
