package placement

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/score"
)

// filler places members greedily: each on the best node that admits it, with the best devices
// there.
type filler struct {
	input  *input
	trial  *trial
	budget *budget
}

// fillAll fills class after class. If the order of members matters, it starts again as long as that
// helps.
func (f *filler) fillAll(classes []*podClass) {
	classes = hardestFirst(classes)
	left := make([][]*podCandidate, len(classes))
	for i, c := range classes {
		left[i] = c.members
	}
	for {
		before, ordered := len(f.trial.pods), false
		for i, c := range classes {
			left[i] = f.fill(c, left[i])
			ordered = ordered || c.fitter.DependsOnOrder() && len(left[i]) > 0
		}
		if !ordered || len(f.trial.pods) == before {
			return
		}
	}
}

// hardestFirst returns the classes, those with the fewest candidates first, and of these the pods
// that need the most devices, and the largest pods.
func hardestFirst(classes []*podClass) []*podClass {
	if len(classes) == 1 {
		return classes
	}
	type choice struct {
		class *podClass
		nodes int
	}
	choices := make([]choice, len(classes))
	for i, c := range classes {
		choices[i] = choice{c, c.candidates(nil).Len()}
	}
	slices.SortStableFunc(choices, func(a, b choice) int {
		x, y := a.class.fitter.Shape.Requests, b.class.fitter.Shape.Requests
		return cmp.Or(
			cmp.Compare(a.nodes, b.nodes),
			-cmp.Compare(a.class.minDevices(), b.class.minDevices()),
			-cmp.Compare(x[corev1.ResourceCPU], y[corev1.ResourceCPU]),
			-cmp.Compare(x[corev1.ResourceMemory], y[corev1.ResourceMemory]),
		)
	})
	sorted := make([]*podClass, len(choices))
	for i := range choices {
		sorted[i] = choices[i].class
	}
	return sorted
}

// fill places as many of these members of the class as it can, and returns the others. If pods have
// affinity for each other or spread, each one that is placed makes other nodes feasible or better
// for the next.
func (f *filler) fill(c *podClass, rest []*podCandidate) []*podCandidate {
	packs := f.input.prefersPacking()
	for len(rest) > 0 {
		before := len(rest)
		nodes := c.candidates(nil)
		switch {
		case c.scorer.Repels():
			rest = f.placeOne(rest, nodes)
		case c.scorer.Reorders():
			if rest = f.placeOne(rest, nodes); len(rest) < before && packs {
				rest = f.packOn(rest, f.trial.lastNode())
			}
		case packs || c.needsDevices():
			rest = f.pack(rest, nodes)
		default:
			rest = f.spread(rest, nodes)
		}
		if len(rest) == before || !c.fitter.DependsOnOrder() && !c.scorer.Reorders() {
			break
		}
	}
	return rest
}

// placeOne places one member on the best node that admits it.
func (f *filler) placeOne(rest []*podCandidate, nodes *score.Ranking) []*podCandidate {
	for i := range nodes.Len() {
		if f.place(rest[0], nodes.At(i)) {
			return rest[1:]
		}
	}
	return rest
}

// packOn places members on one node until it admits no more.
func (f *filler) packOn(rest []*podCandidate, info *model.NodeInfo) []*podCandidate {
	for len(rest) > 0 && f.place(rest[0], info) {
		rest = rest[1:]
	}
	return rest
}

// pack fills one node after the other.
func (f *filler) pack(rest []*podCandidate, nodes *score.Ranking) []*podCandidate {
	for i := 0; i < nodes.Len() && len(rest) > 0; i++ {
		rest = f.packOn(rest, nodes.At(i))
	}
	return rest
}

// spread places one member on each node, and starts again with the nodes that admitted one.
func (f *filler) spread(rest []*podCandidate, nodes *score.Ranking) []*podCandidate {
	var open []*model.NodeInfo
	for i := 0; i < nodes.Len() && len(rest) > 0; i++ {
		if info := nodes.At(i); f.place(rest[0], info) {
			rest = rest[1:]
			open = append(open, info)
		}
	}
	for len(open) > 0 && len(rest) > 0 {
		var still []*model.NodeInfo
		for _, info := range open {
			if len(rest) > 0 && f.place(rest[0], info) {
				rest = rest[1:]
				still = append(still, info)
			}
		}
		open = still
	}
	return rest
}

// place places a member on a node, with the first devices that its own claims can have there. It
// reports whether it did.
func (f *filler) place(m *podCandidate, info *model.NodeInfo) bool {
	if !f.trial.admits(m, info) {
		return false
	}
	offer, reason := m.class.offer(m, info)
	if reason != nil {
		return false
	}
	choice, draws, outcome := f.trial.chooseDevices(m, info, offer, &f.budget.Budget)
	if outcome != alloc.Accepted {
		f.budget.note(outcome)
		return false
	}
	f.trial.assign(m, info, choice, draws)
	return true
}
