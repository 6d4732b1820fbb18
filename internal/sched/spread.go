package sched

import "github.com/allot-dev/allot/internal/model"

// spread is what was worked out about one spread constraint of a shape.
type spread struct {
	nodesVersion uint64
	values       []string // the domains
	termsVersion uint64
	counted      bool
	fewest       int
}

// spread tests the constraints on where pods are relative to each other.
func (f *fitter) spread(state *model.State, info *model.NodeInfo) miss {
	for i := range f.shape.Terms.Spread {
		constraint := &f.shape.Terms.Spread[i]
		value, ok := info.API.Labels[constraint.Term.TopologyKey]
		if !ok {
			return miss{check: CheckSpread, detail: constraint.Term.TopologyKey}
		}
		here, _ := state.Picked(constraint.Term, value)
		if constraint.Term.Matches(f.shape, state.NamespaceLabels(f.shape.Namespace)) {
			here++
		}
		if here-f.fewest(state, i) > constraint.MaxSkew {
			return miss{check: CheckSpread, detail: constraint.Term.TopologyKey}
		}
	}
	return miss{}
}

// fewest is the smallest count of a domain. It is worked out anew after each placement, not for each node.
func (f *fitter) fewest(state *model.State, i int) int {
	constraint, known := &f.shape.Terms.Spread[i], &f.spreads[i]
	if known.values == nil || known.nodesVersion != state.NodesVersion() {
		known.values, known.nodesVersion, known.counted = f.domains(state, constraint), state.NodesVersion(), false
	}
	if known.counted && known.termsVersion == state.TermsVersion() {
		return known.fewest
	}
	known.counted, known.termsVersion, known.fewest = true, state.TermsVersion(), 0
	if len(known.values) < constraint.MinDomains {
		return 0
	}
	for n, value := range known.values {
		if here, _ := state.Picked(constraint.Term, value); n == 0 || here < known.fewest {
			known.fewest = here
		}
	}
	return known.fewest
}

// domains are the values of the topology label on nodes that the pod could go to.
func (f *fitter) domains(state *model.State, constraint *model.Spread) []string {
	seen := map[string]bool{}
	values := []string{}
	for _, info := range state.Nodes() {
		value, ok := info.API.Labels[constraint.Term.TopologyKey]
		if !ok || seen[value] {
			continue
		}
		if matches, err := f.affinity.Match(info.API); !constraint.IgnoreAffinity && (err != nil || !matches) {
			continue
		}
		if m := f.static(info); constraint.HonorTaints && (m.check == CheckTaint || m.check == CheckUnschedulable) {
			continue
		}
		seen[value] = true
		values = append(values, value)
	}
	return values
}
