package sched

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/score"
)

// attempt places as many members as it can, given the current allocation of shared claims. It
// reports whether every member was placed.
func (j *job) attempt() bool {
	if most, hopeless := j.hopeless(); hopeless {
		j.reached = max(j.reached, most)
		j.budget.Spent++
		return false
	}
	start := j.mark()
	j.fillAll()
	placed := len(j.placements)
	j.record(placed)
	for j.deep && placed < len(j.members) {
		// Other nodes and devices for earlier members may achieve what filling cannot.
		target := max(j.unit.Min, j.bestPlaced+1)
		if j.undo(start); j.refuted(target) || !j.fillTogether(target) && !j.reconsider(target) {
			break
		}
		placed = len(j.placements)
		j.record(placed)
	}
	j.undo(start)
	if !j.deep && !j.promising && placed < len(j.members) {
		j.promising = !j.refuted(max(j.unit.Min, j.bestPlaced+1))
	}
	// To continue for a better result costs what placing the unit costs.
	j.budget.Spent += placed
	return placed == len(j.members)
}

// record keeps the placements of the trial if they are more than before, and why they are not all.
func (j *job) record(placed int) {
	j.reached = max(j.reached, placed)
	if placed >= j.unit.Min && placed > j.bestPlaced {
		j.best, j.bestPlaced = j.plan(), placed
	}
	j.recordFailure(placed)
}

// progress records how many members a search has placed that has not placed enough yet.
func (j *job) progress() {
	placed := len(j.placements)
	j.reached = max(j.reached, placed)
	if j.bestReason != nil && placed > j.bestReason.Placed {
		j.recordFailure(placed)
	}
}

// fillAll fills class after class. If the order of members matters, it starts again as long as that
// helps.
func (j *job) fillAll() {
	classes := j.hardestFirst()
	left := make([][]*member, len(classes))
	for i, c := range classes {
		left[i] = c.members
	}
	for {
		before, ordered := len(j.placements), false
		for i, c := range classes {
			left[i] = j.fill(c, left[i])
			ordered = ordered || c.fitter.DependsOnOrder() && len(left[i]) > 0
		}
		if !ordered || len(j.placements) == before {
			return
		}
	}
}

// hardestFirst returns the classes, those with the fewest candidates first, and of these the
// largest pods.
func (j *job) hardestFirst() []*class {
	in := j.in()
	if len(in) == 1 {
		return in
	}
	type choice struct {
		class *class
		nodes int
	}
	choices := make([]choice, len(in))
	for i, c := range in {
		choices[i] = choice{c, j.candidates(c, nil).Len()}
	}
	slices.SortStableFunc(choices, func(a, b choice) int {
		x, y := a.class.fitter.Shape.Requests, b.class.fitter.Shape.Requests
		return cmp.Or(
			cmp.Compare(a.nodes, b.nodes),
			-cmp.Compare(x[corev1.ResourceCPU], y[corev1.ResourceCPU]),
			-cmp.Compare(x[corev1.ResourceMemory], y[corev1.ResourceMemory]),
		)
	})
	classes := make([]*class, len(choices))
	for i := range choices {
		classes[i] = choices[i].class
	}
	return classes
}

// fill places as many of these members of the class as it can, and returns the others. If pods have
// affinity for each other or spread, each one that is placed makes other nodes feasible or better
// for the next.
func (j *job) fill(c *class, rest []*member) []*member {
	for len(rest) > 0 {
		before := len(rest)
		nodes := j.candidates(c, nil)
		switch {
		case c.scorer.Repels():
			rest = j.one(c, rest, nodes)
		case c.scorer.Reorders():
			if rest = j.one(c, rest, nodes); len(rest) < before && j.packs() {
				rest = j.packOn(c, rest, j.lastNode())
			}
		case j.packs() || c.wantsDevices():
			rest = j.pack(c, rest, nodes)
		default:
			rest = j.spread(c, rest, nodes)
		}
		if len(rest) == before || !c.fitter.DependsOnOrder() && !c.scorer.Reorders() {
			break
		}
	}
	return rest
}

// one places one member on the best node that takes it.
func (j *job) one(c *class, rest []*member, nodes *score.Ranking) []*member {
	for i := range nodes.Len() {
		if j.place(c, rest[0], nodes.At(i)) {
			return rest[1:]
		}
	}
	return rest
}

// lastNode returns the node of the last placement.
func (j *job) lastNode() *model.NodeInfo {
	info, _ := j.state.Nodes.Get(j.placements[len(j.placements)-1].Node)
	return info
}

// packOn puts members on one node until it takes no more.
func (j *job) packOn(c *class, rest []*member, info *model.NodeInfo) []*member {
	for len(rest) > 0 && j.place(c, rest[0], info) {
		rest = rest[1:]
	}
	return rest
}

// pack fills one node after the other.
func (j *job) pack(c *class, rest []*member, nodes *score.Ranking) []*member {
	for i := 0; i < nodes.Len() && len(rest) > 0; i++ {
		rest = j.packOn(c, rest, nodes.At(i))
	}
	return rest
}

// spread puts one pod on each node, and starts again with those that have room left.
func (j *job) spread(c *class, rest []*member, nodes *score.Ranking) []*member {
	var open []*model.NodeInfo
	for i := 0; i < nodes.Len() && len(rest) > 0; i++ {
		if info := nodes.At(i); j.place(c, rest[0], info) {
			rest = rest[1:]
			open = append(open, info)
		}
	}
	for len(open) > 0 && len(rest) > 0 {
		var still []*model.NodeInfo
		for _, info := range open {
			if len(rest) > 0 && j.place(c, rest[0], info) {
				rest = rest[1:]
				still = append(still, info)
			}
		}
		open = still
	}
	return rest
}

// place puts a member on a node, with the first devices that its own claims can have there.
func (j *job) place(c *class, m *member, info *model.NodeInfo) bool {
	if j.dynamic(c, info).Failed() || !j.reservable(m) || !j.mountable(c) {
		return false
	}
	board, reason := j.board(c, m, info)
	if reason != nil {
		return false
	}
	choice, draws, outcome := j.drawing(m, info, board)
	if outcome != alloc.Accepted {
		j.exhausted = j.exhausted || outcome == alloc.OutOfBudget
		return false
	}
	j.put(m, info, choice, draws)
	return true
}

// put records a member's place and what its claims get.
func (j *job) put(m *member, info *model.NodeInfo, choice alloc.Choice, draws []model.Draw) {
	for i, claim := range m.own {
		j.assumeClaim(claim.Key, model.Assumption{Allocation: choice[i]})
	}
	f := j.form(m.class, info)
	if m.makes(f) {
		j.assumeClaim(m.extendedKey(), model.Assumption{
			NewClaim: m.made(f), Allocation: choice[len(m.own)], Consumers: []model.Consumer{model.PodConsumer(m.pod.Key.Name, m.pod.UID)},
		})
	}
	for _, use := range m.uses {
		j.reserve(m, use)
	}
	if !j.state.Pods.Assume(m.pod.Key, info.Name, draws...) {
		panic("sched: pod " + m.pod.Key.String() + " is placed twice")
	}
	j.placements = append(j.placements, plan.Pod{
		Pod: m.pod.Key, UID: m.pod.UID, Node: info.Name, NodeUID: info.Node.UID, Draws: draws, Extended: m.status(f),
	})
}
