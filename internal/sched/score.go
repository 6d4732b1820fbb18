package sched

import (
	"math"

	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// What the author of a pod wishes for counts as in upstream's scoring: each wish is brought to 0 to 100 over the nodes
// that there are to choose from, and weighted.
const (
	fullScore      = 100
	taintWeight    = 3
	affinityWeight = 2
	nearWeight     = 2
	spreadWeight   = 2

	alternativeWeight = 2
)

// scorer scores nodes for the pods of one shape by what their author prefers.
type scorer struct {
	*nodefit.Fitter
	preferred *nodeaffinity.PreferredSchedulingTerms // nil: no preference
	soft      nodefit.SpreadCounts                   // of the constraints that are preferences
}

func newScorer(fitter *nodefit.Fitter) *scorer {
	shape := fitter.Shape
	f := &scorer{Fitter: fitter, soft: nodefit.NewSpreadCounts(shape.Terms.SoftSpread)}
	if shape.Affinity == nil || shape.Affinity.NodeAffinity == nil {
		return f
	}
	if terms := shape.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution; len(terms) > 0 {
		// A preference that cannot be parsed is none.
		f.preferred, _ = nodeaffinity.NewPreferredSchedulingTerms(terms)
	}
	return f
}

// shifts says whether a pod that is placed changes where the next one of the shape would rather be.
func (f *scorer) shifts() bool { return f.repels() || len(f.Shape.Terms.Preferred) > 0 }

// repels says whether the next pod may rather be elsewhere than the one before it.
func (f *scorer) repels() bool {
	terms := &f.Shape.Terms
	if len(terms.Spread)+len(terms.SoftSpread) > 0 {
		return true
	}
	for i := range terms.Preferred {
		if terms.Preferred[i].Weight < 0 {
			return true
		}
	}
	return false
}

// wishes says whether nodes may suit the pod's author more or less. Taints are looked at node by node.
func (f *scorer) wishes(state *model.State) bool {
	terms := &f.Shape.Terms
	if f.preferred != nil || len(terms.Preferred)+len(terms.SoftSpread) > 0 {
		return true
	}
	if !state.Terms.Any() {
		return false
	}
	for _, pull := range f.Pulls(state) {
		if pull.Weight() != 0 {
			return true
		}
	}
	return false
}

// score says how much the author would like the pod to be on each of the nodes; tainted says whether any has a taint.
func (f *scorer) score(state *model.State, list []candidate, tainted bool) {
	wishes := f.wishes(state)
	if !tainted && !wishes || len(list) < 2 {
		return
	}
	raw := make([]int64, len(list))
	if tainted {
		f.scoreTaints(list, raw)
	}
	if f.preferred != nil {
		for i := range list {
			raw[i] = f.preferred.Score(list[i].node.API())
		}
		most := max(1, highest(raw))
		add(list, raw, affinityWeight, func(n int64) int64 { return fullScore * n / most })
	}
	if wishes && state.Terms.Any() {
		f.scoreNear(state, list, raw)
		f.scoreSpread(state, list, raw)
	}
}

// scoreAlternatives prefers nodes where requests get earlier alternatives.
func scoreAlternatives(list []candidate) {
	most := int64(0)
	for i := range list {
		most = max(most, list[i].earlier)
	}
	if most == 0 {
		return
	}
	for i := range list {
		list[i].wish += alternativeWeight * fullScore * list[i].earlier / most
	}
}

func add(list []candidate, raw []int64, weight int64, normal func(int64) int64) {
	for i := range list {
		list[i].wish += weight * normal(raw[i])
	}
}

func highest(raw []int64) int64 {
	most := int64(math.MinInt64)
	for _, n := range raw {
		most = max(most, n)
	}
	return most
}

func lowest(raw []int64) int64 {
	least := int64(math.MaxInt64)
	for _, n := range raw {
		least = min(least, n)
	}
	return least
}

// scoreTaints prefers nodes where the pod is welcome.
func (f *scorer) scoreTaints(list []candidate, raw []int64) {
	for i := range list {
		raw[i] = f.SoftTaints(list[i].node)
	}
	if most := highest(raw); most > 0 {
		add(list, raw, taintWeight, func(n int64) int64 { return fullScore - fullScore*n/most })
	}
}

// scoreNear counts the pods that the pod prefers to be with or apart from, and those that want it with them or not.
func (f *scorer) scoreNear(state *model.State, list []candidate, raw []int64) {
	pulls := f.Pulls(state)
	if len(f.Shape.Terms.Preferred)+len(pulls) == 0 {
		return
	}
	for i := range list {
		raw[i] = f.near(state, list[i].node, pulls)
	}
	least, most := lowest(raw), highest(raw)
	if least < most {
		add(list, raw, nearWeight, func(n int64) int64 { return fullScore * (n - least) / (most - least) })
	}
}

func (f *scorer) near(state *model.State, info *model.NodeInfo, pulls []model.Pull) int64 {
	sum := 0
	for i := range f.Shape.Terms.Preferred {
		preference := &f.Shape.Terms.Preferred[i]
		if value, ok := info.Node.Labels[preference.Term.TopologyKey]; ok {
			here, _ := state.Terms.Picked(preference.Term, value)
			sum += preference.Weight * here
		}
	}
	for i := range pulls {
		if weight := pulls[i].Weight(); weight != 0 {
			sum += weight * pulls[i].At(info)
		}
	}
	return int64(sum)
}

// scoreSpread counts the pods in each domain of the constraints that are wishes; a domain of few counts for more.
func (f *scorer) scoreSpread(state *model.State, list []candidate, raw []int64) {
	constraints := f.Shape.Terms.SoftSpread
	if len(constraints) == 0 {
		return
	}
	const outside = -1
	most, least := int64(0), int64(math.MaxInt64)
	for i := range list {
		if raw[i] = outside; !f.soft.HasKeys(list[i].node) {
			continue
		}
		sum := 0.0
		for c := range constraints {
			known := f.soft.Count(f.Fitter, state, c)
			here := known.At(list[i].node.Node.Labels[constraints[c].Term.TopologyKey])
			sum += float64(here)*math.Log(float64(known.Domains()+2)) + float64(constraints[c].MaxSkew-1)
		}
		raw[i] = int64(math.Round(sum))
		most, least = max(most, raw[i]), min(least, raw[i])
	}
	add(list, raw, spreadWeight, func(n int64) int64 {
		switch {
		case n == outside:
			return 0
		case most == 0:
			return fullScore
		}
		return fullScore * (most + least - n) / most
	})
}
