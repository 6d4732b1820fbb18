package sched

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// attempt places the members with the shared claims as they are allocated now. It answers true once all members that
// can be tried have a place.
func (j *job) attempt() bool {
	if j.hopeless() {
		j.budget.Spent++
		return false
	}
	start := j.mark()
	for _, c := range j.hardestFirst() {
		j.fill(c)
	}
	placed := len(j.placements)
	if placed < j.unit.Min {
		j.recordFailure(placed)
		j.undo(start)
		if !j.refuted() {
			j.reconsider()
		}
		placed = len(j.placements)
	}
	if placed >= j.unit.Min && placed > j.bestPlaced {
		j.best, j.bestPlaced = j.plan(), placed
	}
	j.recordFailure(placed)
	j.undo(start)
	// Trying on for a better place for the unit costs what placing it costs.
	j.budget.Spent += placed
	return placed == len(j.members)
}

// hardestFirst are the classes, those with the fewest nodes to choose from first, and of these the largest pods.
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
		choices[i] = choice{c, len(j.candidates(c, c.problem))}
	}
	slices.SortStableFunc(choices, func(a, b choice) int {
		x, y := a.class.fitter.shape.Requests, b.class.fitter.shape.Requests
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

// fill places as many members of the class as it can, one choice of nodes after the other. Where pods want to be
// near each other or spread, one that is placed opens nodes for the others.
func (j *job) fill(c *class) {
	rest := c.members
	for len(rest) > 0 {
		before := len(rest)
		nodes := j.candidates(c, c.problem)
		switch {
		case j.packs() || c.problem != nil:
			rest = j.pack(c, rest, nodes)
		case len(c.fitter.spreads) > 0:
			// With each pod that is placed, others among the nodes suit.
			rest = append(j.spread(c, rest[:1], nodes), rest[1:]...)
		default:
			rest = j.spread(c, rest, nodes)
		}
		if len(rest) == before || len(c.fitter.shape.Terms.Affinity)+len(c.fitter.spreads) == 0 {
			return
		}
	}
}

// pack fills one node after the other.
func (j *job) pack(c *class, rest []*member, nodes []candidate) []*member {
	for at := 0; at < len(nodes) && len(rest) > 0; {
		if !j.place(c, rest[0], nodes[at].node) {
			at++
			continue
		}
		rest = rest[1:]
	}
	return rest
}

// spread puts one pod on each node, and starts again with those that have room left.
func (j *job) spread(c *class, rest []*member, nodes []candidate) []*member {
	for len(nodes) > 0 && len(rest) > 0 {
		var open []candidate
		for _, candidate := range nodes {
			if len(rest) > 0 && j.place(c, rest[0], candidate.node) {
				rest = rest[1:]
				open = append(open, candidate)
			}
		}
		nodes = open
	}
	return rest
}

// place puts a member on a node, with the first devices that its own claims can have there.
func (j *job) place(c *class, m *member, info *model.NodeInfo) bool {
	if c.fitter.dynamic(j.state, info).check != "" || !j.reservable(m) {
		return false
	}
	var choice alloc.Choice
	if c.problem != nil {
		board, reason := c.problem.With(m.own).On(info)
		if reason != nil {
			return false
		}
		var outcome alloc.Outcome
		if choice, outcome = board.First(j.budget); outcome != alloc.Accepted {
			j.exhausted = j.exhausted || outcome == alloc.OutOfBudget
			return false
		}
	}
	j.put(m, info, choice)
	return true
}

// put records a member's place and what its claims get.
func (j *job) put(m *member, info *model.NodeInfo, choice alloc.Choice) {
	for i, claim := range m.own {
		j.assumeClaim(claim.Key, model.Assumption{Allocation: choice[i]})
	}
	for _, use := range m.uses {
		j.reserve(m, use)
	}
	if !j.state.AssumePod(m.pod.Key, info.Name) {
		panic("sched: pod " + m.pod.Key.String() + " is placed twice")
	}
	j.placements = append(j.placements, Placement{Pod: m.pod.Key, UID: m.pod.UID, Node: info.Name, NodeUID: info.Node.UID})
}
