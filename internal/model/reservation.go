package model

import "fmt"

// Use describes how a pod uses a claim.
type Use struct {
	// Consumer is the pod, or its PodGroup if ThroughGroup.
	Consumer     Consumer
	ThroughGroup bool
	// Allocates means that the claim is allocated for this use.
	Allocates bool
	// Ended means that the object in spec.reservedFor has terminated.
	Ended bool
}

// Reservation returns the consumer that must be added to status.reservedFor before the claim can be
// used (SPEC R15); needed is false if none must be added.
//
//   - A claim that is used through a group gets the PodGroup, once, whatever spec.reservedFor is:
//     the end of a PodGroup is observed, that of other objects is not.
//   - Otherwise, if spec.reservedFor is set, the claim gets that reference when it is allocated,
//     for any pod (KEP-5194), unless it names a pod or PodGroup that has terminated: that consumer
//     would be removed again, and the allocation with it. It is not added later: reservedForAnyPod
//     is part of the allocation, which does not change, and a reference that its owner has removed
//     is not added again.
//   - Otherwise the claim gets the pod, unless it is reserved for any pod and has a consumer that
//     is not a pod.
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

// Cover returns the consumer that permits the use of the claim when nothing needs to be reserved.
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

// Ended reports whether a consumer in the namespace is a pod or PodGroup that does not exist, or a
// pod that has finished, as far as the API has shown. It returns false for other kinds.
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

// AuditClaims returns an error for a pod that is on a node, or assumed there, while one of its
// claims has no allocation. This happens while one cache is behind another; a test with consistent
// caches checks it after each change.
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
