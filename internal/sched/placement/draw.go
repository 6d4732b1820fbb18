package placement

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// draws returns what a member takes from a node through its claims, with this choice of devices for
// its own claims, and the check that fails because of it.
func (t *trial) draws(m *podCandidate, info *model.NodeInfo, choice alloc.Choice) ([]model.Draw, nodefit.Failure) {
	if !t.state.Devices.HasDraws() {
		return nil, nodefit.Failure{}
	}
	var draws []model.Draw
	f := m.class.form(info)
	for _, use := range m.uses {
		claim, _ := t.state.Claims.Get(use.claim)
		allocation, containers := claim.Allocation, use.containers
		if m.createdClaim != nil && use.claim == m.extendedKey() {
			containers = f.containers()
		}
		for i, own := range m.own {
			if own.Key == use.claim && choice != nil {
				allocation = choice[i]
			}
		}
		draw, ok := t.state.Devices.Draw(use.claim.Name, allocation, containers)
		if !ok {
			continue
		}
		if len(draw.Mapping) > 0 && t.hasOtherConsumer(m, claim) {
			return nil, nodefit.Failure{Check: nodefit.CheckMapped, Detail: use.claim.String()}
		}
		draws = append(draws, draw)
	}
	if m.needsNewClaim(f) && choice != nil {
		if draw, ok := t.state.Devices.Draw(m.pod.Extended, choice[len(m.own)], f.containers()); ok {
			draws = append(draws, draw)
		}
	}
	return draws, nodefit.CheckDraws(m.pod.Shape, draws, info)
}

// hasOtherConsumer reports whether another pod uses a claim. A claim for a node's own resources is
// for one pod.
func (t *trial) hasOtherConsumer(m *podCandidate, claim *model.Claim) bool {
	for _, consumer := range claim.Consumers {
		if model.IsPodConsumer(consumer) {
			if consumer.UID != m.pod.UID {
				return true
			}
			continue
		}
		if m.pod.Group == "" || m.group == nil || consumer.UID != m.group.UID {
			return true
		}
	}
	if m.pod.Group == "" {
		return false
	}
	for _, pod := range t.state.Groups.Members(m.pod.GroupKey()) {
		if pod.Key != m.pod.Key && pod.Counts() && usesClaim(pod, claim.Key.Name) {
			return true
		}
	}
	return false
}

// chooseDevices returns devices for a member's own claims such that the node has what they draw
// from it.
func (t *trial) chooseDevices(
	m *podCandidate, info *model.NodeInfo, offer *alloc.NodeOffer, b *alloc.Budget,
) (alloc.Choice, []model.Draw, alloc.Outcome) {
	if offer == nil {
		draws, failure := t.draws(m, info, nil)
		if failure.Failed() {
			return nil, nil, alloc.Exhausted
		}
		return nil, draws, alloc.Accepted
	}
	choice, outcome := offer.Best(b)
	if outcome != alloc.Accepted {
		return nil, nil, outcome
	}
	draws, failure := t.draws(m, info, choice)
	if !failure.Failed() {
		return choice, draws, alloc.Accepted
	}
	outcome = offer.Search(b, func(other alloc.Choice) bool {
		choice = other
		draws, failure = t.draws(m, info, choice)
		return !failure.Failed()
	})
	return choice, draws, outcome
}

// drawFailureSteps is the budget of the search for a reason.
const drawFailureSteps = 1000

// drawFailure returns the check that fails because the best devices for the class draw too much
// from the node.
func (t *trial) drawFailure(c *podClass, info *model.NodeInfo) nodefit.Failure {
	if !t.state.Devices.HasDraws() {
		return nodefit.Failure{}
	}
	var choice alloc.Choice
	offer, reason := c.offer(c.members[0], info)
	if reason != nil {
		return nodefit.Failure{}
	}
	if offer != nil {
		if choice, _ = offer.Best(&alloc.Budget{Limit: drawFailureSteps}); choice == nil {
			return nodefit.Failure{}
		}
	}
	_, failure := t.draws(c.members[0], info, choice)
	return failure
}
