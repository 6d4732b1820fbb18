package sched

import "github.com/allot-dev/allot/internal/model"

// reservation is what a use adds to a claim: a consumer, or nothing. It holds the same rules as claims.Reserve (R15).
func (j *job) reservation(m *member, u use) (consumer model.Consumer, anyPod, needed bool) {
	claim, _ := j.state.Claim(u.claim)
	if u.group {
		consumer = model.GroupConsumer(j.unit.Group.Key.Name, j.unit.Group.UID)
	} else {
		consumer = model.PodConsumer(m.pod.Key.Name, m.pod.UID)
	}
	free := claim.Allocation == nil || !claim.Allocation.ReservedForAnyPod
	switch {
	case claim.HasConsumer(consumer):
		return consumer, false, false
	case u.group:
		return consumer, false, true
	case !free && claim.HasNonPodConsumer():
		return consumer, false, false
	case claim.ReservedFor != nil && len(claim.Consumers) == 0 && free:
		return *claim.ReservedFor, true, true
	}
	return consumer, false, true
}

// reserve adds the member's, or its group's, reservation.
func (j *job) reserve(m *member, u use) {
	consumer, anyPod, needed := j.reservation(m, u)
	if needed {
		j.assumeClaim(u.claim, model.Assumption{Consumers: []model.Consumer{consumer}, AnyPod: anyPod})
	}
}

// reservable says whether none of the member's claims is full.
func (j *job) reservable(m *member) bool { return j.full(m) == nil }

// full finds a claim that has no room for the reservation that the member needs.
func (j *job) full(m *member) *model.Claim {
	for _, use := range m.uses {
		claim, _ := j.state.Claim(use.claim)
		if len(claim.Consumers) < model.MaxConsumers {
			continue
		}
		if _, _, needed := j.reservation(m, use); needed {
			return claim
		}
	}
	return nil
}
