package sched

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// draws returns what a member takes from a node through its claims, its own as the choice allocates
// them, and which check that fails.
func (j *job) draws(m *member, info *model.NodeInfo, choice alloc.Choice) ([]model.Draw, nodefit.Failure) {
	if !j.state.Devices.HasDraws() {
		return nil, nodefit.Failure{}
	}
	var draws []model.Draw
	f := j.form(m.class, info)
	for _, use := range m.uses {
		claim, _ := j.state.Claims.Get(use.claim)
		allocation, containers := claim.Allocation, use.containers
		if m.held != nil && use.claim == m.extendedKey() {
			containers = f.containers()
		}
		for i, own := range m.own {
			if own.Key == use.claim && choice != nil {
				allocation = choice[i]
			}
		}
		draw, ok := j.state.Devices.Draw(use.claim.Name, allocation, containers)
		if !ok {
			continue
		}
		if len(draw.Mapping) > 0 && j.usedByOther(m, claim) {
			return nil, nodefit.Failure{Check: nodefit.CheckMapped, Detail: use.claim.String()}
		}
		draws = append(draws, draw)
	}
	if m.makes(f) && choice != nil {
		if draw, ok := j.state.Devices.Draw(m.pod.Extended, choice[len(m.own)], f.containers()); ok {
			draws = append(draws, draw)
		}
	}
	return draws, nodefit.CheckDraws(m.pod.Shape, draws, info)
}

// usedByOther reports whether another pod uses a claim. A claim for a node's own resources is for
// one pod.
func (j *job) usedByOther(m *member, claim *model.Claim) bool {
	for _, consumer := range claim.Consumers {
		if model.IsPodConsumer(consumer) {
			if consumer.UID != m.pod.UID {
				return true
			}
			continue
		}
		if m.pod.Group == "" || j.unit.Group == nil || consumer.UID != j.unit.Group.UID {
			return true
		}
	}
	if m.pod.Group == "" {
		return false
	}
	for _, pod := range j.state.Groups.Members(m.pod.GroupKey()) {
		if pod.Key != m.pod.Key && pod.Counts() && usesClaim(pod, claim.Key.Name) {
			return true
		}
	}
	return false
}

// usesClaim reports whether the pod names a claim of its namespace.
func usesClaim(pod *model.Pod, claim string) bool {
	for name := range pod.ClaimNames {
		if name == claim {
			return true
		}
	}
	return false
}

// drawing finds devices for a member's own claims whose draws the node can provide.
func (j *job) drawing(m *member, info *model.NodeInfo, board *alloc.NodeOffer) (alloc.Choice, []model.Draw, alloc.Outcome) {
	if board == nil {
		draws, failure := j.draws(m, info, nil)
		if failure.Failed() {
			return nil, nil, alloc.Exhausted
		}
		return nil, draws, alloc.Accepted
	}
	choice, outcome := board.Best(j.budget)
	if outcome != alloc.Accepted {
		return nil, nil, outcome
	}
	draws, failure := j.draws(m, info, choice)
	if !failure.Failed() {
		return choice, draws, alloc.Accepted
	}
	outcome = board.Search(j.budget, func(other alloc.Choice) bool {
		choice = other
		draws, failure = j.draws(m, info, choice)
		return !failure.Failed()
	})
	return choice, draws, outcome
}

// drawMiss returns the check that fails because the best devices for the class draw too much from
// the node.
func (j *job) drawMiss(c *class, info *model.NodeInfo) nodefit.Failure {
	if !j.state.Devices.HasDraws() {
		return nodefit.Failure{}
	}
	var choice alloc.Choice
	board, reason := j.board(c, c.members[0], info)
	if reason != nil {
		return nodefit.Failure{}
	}
	if board != nil {
		if choice, _ = board.Best(&alloc.Budget{Limit: drawSteps}); choice == nil {
			return nodefit.Failure{}
		}
	}
	_, m := j.draws(c.members[0], info, choice)
	return m
}

const drawSteps = 1000 // for reasons
