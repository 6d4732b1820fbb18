package sched

import "github.com/allot-dev/allot/internal/model"

// spread is what was worked out about one spread constraint of a shape.
type spread struct {
	known        bool
	nodesVersion uint64
	values       map[string]int // domains, numbered
	nodes        map[string]int // the domain of each node that counts

	counted      bool
	termsVersion uint64
	counts       []int // pods that the constraint picks, by domain
	fewest       int
}

// spread tests the constraints on where pods are relative to each other.
func (f *fitter) spread(state *model.State, info *model.NodeInfo) miss {
	constraints := f.shape.Terms.Spread
	for i := range constraints {
		constraint := &constraints[i]
		value, ok := info.Node.Labels[constraint.Term.TopologyKey]
		if !ok {
			return miss{check: CheckSpread, detail: constraint.Term.TopologyKey}
		}
		known := f.count(state, constraints, f.spreads, i)
		here := known.at(value)
		if constraint.Term.Matches(f.shape, state.NamespaceLabels(f.shape.Namespace)) {
			here++
		}
		if here-known.fewest > constraint.MaxSkew {
			return miss{check: CheckSpread, detail: constraint.Term.TopologyKey}
		}
	}
	return miss{}
}

// at is how many pods are in a domain.
func (s *spread) at(value string) int {
	if domain, ok := s.values[value]; ok {
		return s.counts[domain]
	}
	return 0
}

// count brings one of the constraints up to date. That is done once a placement, not once a node.
func (f *fitter) count(state *model.State, constraints []model.Spread, all []spread, i int) *spread {
	constraint, known := &constraints[i], &all[i]
	if !known.known || known.nodesVersion != state.NodesVersion() {
		f.domains(state, constraints, constraint, known)
		known.known, known.nodesVersion, known.counted = true, state.NodesVersion(), false
	}
	if known.counted && known.termsVersion == state.TermsVersion() {
		return known
	}
	known.counted, known.termsVersion = true, state.TermsVersion()
	clear(known.counts)
	for node, n := range state.PickedByNode(constraint.Term) {
		if domain, ok := known.nodes[node]; ok {
			known.counts[domain] += n
		}
	}
	known.fewest = 0
	if len(known.values) < constraint.MinDomains {
		return known
	}
	for domain, n := range known.counts {
		if domain == 0 || n < known.fewest {
			known.fewest = n
		}
	}
	return known
}

// domains sorts the nodes that count into domains: those that have the labels of all constraints, and that the
// constraint's policies do not leave out.
func (f *fitter) domains(state *model.State, all []model.Spread, constraint *model.Spread, known *spread) {
	known.values, known.nodes = map[string]int{}, map[string]int{}
	for _, info := range state.Nodes() {
		if !hasKeys(info, all) {
			continue
		}
		if !constraint.IgnoreAffinity && !f.selects(info) {
			continue
		}
		if m := f.static(info); constraint.HonorTaints && (m.check == CheckTaint || m.check == CheckUnschedulable) {
			continue
		}
		value := info.Node.Labels[constraint.Term.TopologyKey]
		domain, ok := known.values[value]
		if !ok {
			domain = len(known.values)
			known.values[value] = domain
		}
		known.nodes[info.Name] = domain
	}
	known.counts = make([]int, len(known.values))
}

func hasKeys(info *model.NodeInfo, constraints []model.Spread) bool {
	for i := range constraints {
		if _, ok := info.Node.Labels[constraints[i].Term.TopologyKey]; !ok {
			return false
		}
	}
	return true
}
