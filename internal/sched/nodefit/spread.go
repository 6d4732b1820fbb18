package nodefit

import "github.com/allot-dev/allot/internal/model"

// SpreadCounts counts pods by domain for some topology spread constraints of a shape. A count is
// brought up to date once for each placement, not for each node.
type SpreadCounts struct {
	constraints []model.Spread
	counts      []DomainCounts // counts of each constraint
}

// NewSpreadCounts returns SpreadCounts of which nothing is counted yet.
func NewSpreadCounts(constraints []model.Spread) SpreadCounts {
	return SpreadCounts{constraints: constraints, counts: make([]DomainCounts, len(constraints))}
}

// DomainCounts are the pods that one constraint selects, by domain.
type DomainCounts struct {
	known        bool
	nodesVersion uint64
	domains      map[string]int // numbers, by label value
	nodes        map[string]int // the domain of each node that counts

	counted      bool
	termsVersion uint64
	pods         []int // number of pods, by domain
	fewest       int
}

// At returns the number of pods in a domain.
func (c *DomainCounts) At(value string) int {
	if domain, ok := c.domains[value]; ok {
		return c.pods[domain]
	}
	return 0
}

// Domains returns the number of domains.
func (c *DomainCounts) Domains() int { return len(c.domains) }

// checkSpread checks the constraints that must hold.
func (f *Fitter) checkSpread(state *model.State, info *model.NodeInfo) Failure {
	for i := range f.spread.constraints {
		constraint := &f.spread.constraints[i]
		value, ok := info.Node.Labels[constraint.Term.TopologyKey]
		if !ok {
			return Failure{Check: CheckSpread, Detail: constraint.Term.TopologyKey}
		}
		counts := f.spread.Count(f, state, i)
		here := counts.At(value)
		if constraint.Term.Matches(f.Shape, state.Namespaces.Labels(f.Shape.Namespace)) {
			here++
		}
		if here-counts.fewest > constraint.MaxSkew {
			return Failure{Check: CheckSpread, Detail: constraint.Term.TopologyKey}
		}
	}
	return Failure{}
}

// Count returns the counts of constraint i, brought up to date.
func (s *SpreadCounts) Count(f *Fitter, state *model.State, i int) *DomainCounts {
	constraint, c := &s.constraints[i], &s.counts[i]
	if !c.known || c.nodesVersion != state.Nodes.Version() {
		s.setDomains(f, state, i)
		c.known, c.nodesVersion, c.counted = true, state.Nodes.Version(), false
	}
	if c.counted && c.termsVersion == state.Terms.Version() {
		return c
	}
	c.counted, c.termsVersion = true, state.Terms.Version()
	clear(c.pods)
	for node, n := range state.Terms.PickedByNode(constraint.Term) {
		if domain, ok := c.nodes[node]; ok {
			c.pods[domain] += n
		}
	}
	c.fewest = 0
	if len(c.domains) < constraint.MinDomains {
		return c
	}
	for domain, n := range c.pods {
		if domain == 0 || n < c.fewest {
			c.fewest = n
		}
	}
	return c
}

// setDomains assigns domains to the nodes that count for a constraint: those that have the labels
// of all constraints, and that the constraint's policies do not exclude.
func (s *SpreadCounts) setDomains(f *Fitter, state *model.State, i int) {
	constraint, c := &s.constraints[i], &s.counts[i]
	c.domains, c.nodes = map[string]int{}, map[string]int{}
	for _, info := range state.Nodes.List() {
		if !s.HasKeys(info) || !constraint.IgnoreAffinity && !f.selects(info) {
			continue
		}
		check := f.Static(info).Check
		if constraint.HonorTaints && (check == CheckTaint || check == CheckUnschedulable) {
			continue
		}
		value := info.Node.Labels[constraint.Term.TopologyKey]
		domain, ok := c.domains[value]
		if !ok {
			domain = len(c.domains)
			c.domains[value] = domain
		}
		c.nodes[info.Name] = domain
	}
	c.pods = make([]int, len(c.domains))
}

// HasKeys reports whether the node has the labels of all constraints.
func (s *SpreadCounts) HasKeys(info *model.NodeInfo) bool {
	for i := range s.constraints {
		if _, ok := info.Node.Labels[s.constraints[i].Term.TopologyKey]; !ok {
			return false
		}
	}
	return true
}
