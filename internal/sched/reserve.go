package sched

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// reservation returns what a use adds to a claim: a consumer, or nothing.
func (j *job) reservation(m *member, u use) (consumer model.Consumer, anyPod, needed bool) {
	claim, _ := j.state.Claims.Get(u.claim)
	return claim.Reservation(j.useOf(m, u))
}

// useOf returns the member's use of a claim.
func (j *job) useOf(m *member, u use) model.Use {
	claim, _ := j.state.Claims.Get(u.claim)
	observed, ok := j.state.Claims.Observed(u.claim)
	use := model.Use{ThroughGroup: u.group, Allocates: !ok || observed.Allocation == nil}
	if use.Allocates && claim.ReservedFor != nil {
		use.Ended = j.state.Ended(claim.Key.Namespace, *claim.ReservedFor)
	}
	if u.group {
		use.Consumer = model.GroupConsumer(j.unit.Group.Key.Name, j.unit.Group.UID)
	} else {
		use.Consumer = model.PodConsumer(m.pod.Key.Name, m.pod.UID)
	}
	return use
}

// reserve adds the member's, or its group's, reservation, or records the consumer that makes it
// unnecessary.
func (j *job) reserve(m *member, u use) {
	consumer, anyPod, needed := j.reservation(m, u)
	if needed {
		j.assumeClaim(u.claim, model.Assumption{Consumers: []model.Consumer{consumer}, AnyPod: anyPod})
		return
	}
	claim, _ := j.state.Claims.Get(u.claim)
	if cover, ok := claim.Cover(j.useOf(m, u)); ok {
		j.touched = append(j.touched, touch{key: u.claim, before: claim, relies: &cover})
	}
}

// reliances returns the consumers that were in claims before the trial, and through which pods of
// the plan use them.
func (j *job) reliances() []plan.Reliance {
	first, seen := map[model.Key]*model.Claim{}, map[plan.Reliance]bool{}
	var list []plan.Reliance
	for _, t := range j.touched {
		if first[t.key] == nil {
			first[t.key] = t.before
		}
		if t.relies == nil || first[t.key] == nil || !first[t.key].HasConsumer(*t.relies) {
			continue
		}
		r := plan.Reliance{Key: t.key, UID: first[t.key].UID, Consumer: *t.relies}
		if !seen[r] {
			seen[r] = true
			list = append(list, r)
		}
	}
	slices.SortFunc(list, func(a, b plan.Reliance) int { return model.CompareKeys(a.Key, b.Key) })
	return list
}

// reservable reports whether none of the member's claims is full.
func (j *job) reservable(m *member) bool { return j.full(m) == nil }

// full returns a claim without space for the reservation that the member needs, or nil.
func (j *job) full(m *member) *model.Claim {
	for _, use := range m.uses {
		claim, _ := j.state.Claims.Get(use.claim)
		if len(claim.Consumers) < model.MaxConsumers {
			continue
		}
		if _, _, needed := j.reservation(m, use); needed {
			return claim
		}
	}
	return nil
}
