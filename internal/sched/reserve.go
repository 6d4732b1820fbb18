package sched

import "github.com/allot-dev/allot/internal/model"

// reservation is what a use adds to a claim: a consumer, or nothing.
func (j *job) reservation(m *member, u use) (consumer model.Consumer, anyPod, needed bool) {
	claim, _ := j.state.Claim(u.claim)
	observed, ok := j.state.ObservedClaim(u.claim)
	use := model.Use{ThroughGroup: u.group, Allocates: !ok || observed.Allocation == nil}
	if u.group {
		use.Consumer = model.GroupConsumer(j.unit.Group.Key.Name, j.unit.Group.UID)
	} else {
		use.Consumer = model.PodConsumer(m.pod.Key.Name, m.pod.UID)
	}
	return claim.Reservation(use)
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
