package placement

import "github.com/allot-dev/allot/internal/model"

// reserve adds the member, or its group, to the consumers of a claim, or records the consumer that
// makes this unnecessary.
func (t *trial) reserve(m *podCandidate, u claimUse) {
	consumer, anyPod, needed := t.reservation(m, u)
	if needed {
		t.assumeClaim(u.claim, model.Assumption{Consumers: []model.Consumer{consumer}, AnyPod: anyPod})
		return
	}
	claim, _ := t.state.Claims.Get(u.claim)
	if cover, ok := claim.Cover(t.modelUse(m, u)); ok {
		t.claims = append(t.claims, claimChange{key: u.claim, before: claim, relies: &cover})
	}
}

// reservation returns the consumer that a use adds to a claim, if it needs one.
func (t *trial) reservation(m *podCandidate, u claimUse) (consumer model.Consumer, anyPod, needed bool) {
	claim, _ := t.state.Claims.Get(u.claim)
	return claim.Reservation(t.modelUse(m, u))
}

// modelUse returns the member's use of a claim as a value of the model.
func (t *trial) modelUse(m *podCandidate, u claimUse) model.Use {
	claim, _ := t.state.Claims.Get(u.claim)
	observed, ok := t.state.Claims.Observed(u.claim)
	group := u.group && !t.state.IsTreeClaim(m.pod.GroupKey(), claim)
	use := model.Use{ThroughGroup: group, Allocates: !ok || observed.Allocation == nil}
	if use.Allocates && claim.ReservedFor != nil {
		use.Ended = t.state.Ended(claim.Key.Namespace, *claim.ReservedFor)
	}
	if group {
		use.Consumer = model.GroupConsumer(m.group.Key.Name, m.group.UID)
	} else {
		use.Consumer = model.PodConsumer(m.pod.Key.Name, m.pod.UID)
	}
	return use
}

// fullClaim returns a claim that has the largest number of consumers and needs another one for the
// member, or nil.
func (t *trial) fullClaim(m *podCandidate) *model.Claim {
	for _, use := range m.uses {
		claim, _ := t.state.Claims.Get(use.claim)
		if len(claim.Consumers) < model.MaxConsumers {
			continue
		}
		if _, _, needed := t.reservation(m, use); needed {
			return claim
		}
	}
	return nil
}
