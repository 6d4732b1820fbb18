package sched

import (
	"maps"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// draws is what a member takes from a node through its claims, its own as the choice allocates them, and how that misses.
func (j *job) draws(m *member, info *model.NodeInfo, choice alloc.Choice) ([]model.Draw, miss) {
	if !j.state.HasDraws() {
		return nil, miss{}
	}
	var draws []model.Draw
	f := j.form(m.class, info)
	for _, use := range m.uses {
		claim, _ := j.state.Claim(use.claim)
		allocation, containers := claim.Allocation, use.containers
		if m.held != nil && use.claim == m.extendedKey() {
			containers = f.containers()
		}
		for i, own := range m.own {
			if own.Key == use.claim && choice != nil {
				allocation = choice[i]
			}
		}
		draw, ok := j.state.Draw(use.claim.Name, allocation, containers)
		if !ok {
			continue
		}
		if len(draw.Mapping) > 0 && j.usedByOther(m, claim) {
			return nil, miss{check: CheckMapped, detail: use.claim.String()}
		}
		draws = append(draws, draw)
	}
	if m.makes(f) && choice != nil {
		if draw, ok := j.state.Draw(m.pod.Extended, choice[len(m.own)], f.containers()); ok {
			draws = append(draws, draw)
		}
	}
	if miss := exceedsBudget(m.pod.Shape, draws); miss.check != "" {
		return draws, miss
	}
	return draws, exceeds(info, m.pod.Shape.Requests, m.pod.Shape.DrawnBeyondBudgets(draws))
}

// exceedsBudget finds the first resource by name of which the draws are more than the pod-level request leaves for them.
func exceedsBudget(shape *model.Shape, draws []model.Draw) miss {
	if len(shape.DrawBudgets) == 0 || len(draws) == 0 {
		return miss{}
	}
	drawn := model.Drawn(draws)
	for _, name := range slices.Sorted(maps.Keys(shape.DrawBudgets)) {
		if lacking := model.SubAmounts(drawn[name], shape.DrawBudgets[name]); lacking > 0 {
			return miss{check: CheckDrawBudget, detail: string(name), lacking: lacking}
		}
	}
	return miss{}
}

// exceeds finds the first resource by name of which the node has too little for what is drawn, beside what is requested.
func exceeds(info *model.NodeInfo, requests, drawn model.Resources) miss {
	var worst miss
	for name, amount := range drawn {
		lacking := model.SubAmounts(model.AddAmounts(requests[name], amount), info.Free[name])
		if lacking > 0 && (worst.check == "" || string(name) < worst.detail) {
			worst = miss{check: CheckResource, detail: string(name), lacking: lacking}
		}
	}
	return worst
}

// usedByOther says whether another pod uses a claim. One that stands for a node's own resources is for one pod.
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
	for _, pod := range j.state.Members(m.pod.GroupKey()) {
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

// drawing finds devices for a member's own claims whose draws the node can bear.
func (j *job) drawing(m *member, info *model.NodeInfo, board *alloc.NodeOffer) (alloc.Choice, []model.Draw, alloc.Outcome) {
	if board == nil {
		draws, miss := j.draws(m, info, nil)
		if miss.check != "" {
			return nil, nil, alloc.Exhausted
		}
		return nil, draws, alloc.Accepted
	}
	choice, outcome := board.Best(j.budget)
	if outcome != alloc.Accepted {
		return nil, nil, outcome
	}
	draws, miss := j.draws(m, info, choice)
	if miss.check == "" {
		return choice, draws, alloc.Accepted
	}
	outcome = board.Search(j.budget, func(other alloc.Choice) bool {
		choice = other
		draws, miss = j.draws(m, info, choice)
		return miss.check == ""
	})
	return choice, draws, outcome
}

// drawMiss says how the best devices that a class could have on the node draw too much from it.
func (j *job) drawMiss(c *class, info *model.NodeInfo) miss {
	if !j.state.HasDraws() {
		return miss{}
	}
	var choice alloc.Choice
	board, reason := j.board(c, c.members[0], info)
	if reason != nil {
		return miss{}
	}
	if board != nil {
		if choice, _ = board.Best(&alloc.Budget{Limit: drawSteps}); choice == nil {
			return miss{}
		}
	}
	_, m := j.draws(c.members[0], info, choice)
	return m
}

const drawSteps = 1000 // to explain
