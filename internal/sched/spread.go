package sched

import (
	"math"

	"github.com/allot-dev/allot/internal/model"
)

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
		if matches, err := f.affinity.Match(info.API()); !constraint.IgnoreAffinity && (err != nil || !matches) {
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

// spreadByDefault says how many pods of the same set, or the same Services, are on each node and in its zone. Pods of a kind of domain of which there are few count for less, as in upstream's scoring.
func (j *job) spreadByDefault(c *class, list []candidate) {
	onNode := j.company(c)
	if len(onNode) == 0 || len(list) < 2 {
		return
	}
	perHost, inZone := math.Log(float64(len(list)+2)), j.crowdOfZones(onNode, list)
	for i := range list {
		info := list[i].node
		list[i].crowd = inZone[info.Zone]
		if n, ok := onNode[info]; ok {
			list[i].crowd += perHost * float64(n)
		}
	}
}

// company is how many pods there are on each node from which a member of the class, if it is alone, should rather be apart, though
// its author says nothing about that.
func (j *job) company(c *class) map[*model.NodeInfo]int {
	pod, terms := c.members[0].pod, &c.fitter.shape.Terms
	switch {
	case j.unit.Key.Group || len(terms.Spread)+len(terms.SoftSpread) > 0:
		return nil
	case pod.Set == "":
		return j.state.ServedWith(pod.Shape)
	}
	return j.state.OfSet(pod.Set)
}

// crowdOfZones is what the pods of a set count for in each zone. Where there is no zone, or all candidates are in one, they count
// for nothing.
func (j *job) crowdOfZones(onNode map[*model.NodeInfo]int, list []candidate) []float64 {
	crowd := make([]float64, j.state.Zones())
	if len(crowd) < 3 {
		return crowd
	}
	seen, zones := make([]bool, len(crowd)), 0
	for i := range list {
		if zone := list[i].node.Zone; zone != 0 && !seen[zone] {
			seen[zone] = true
			zones++
		}
	}
	perZone := math.Log(float64(zones + 2))
	for info, n := range onNode {
		if info.Zone != 0 {
			crowd[info.Zone] += perZone * float64(n)
		}
	}
	return crowd
}
