package alloc

import "slices"

// flowBound compares what requests need with what cells have, given the decisions of the search.
// What it rejects is impossible; what it accepts may still be impossible.
type flowBound struct {
	decisions
	nodeOf  []int   // by request: its node in the flow
	nodes   [][]int // by node: the eligibilities of its devices
	flow    *flow
	groups  []counterGroup
	groupOf []int // by cell; -1 if the cell takes from no counters
	// sums are the counter sums of the node.
	sums       []counterSum
	usedValues []map[string]bool // by constraint: values used under a distinctAttribute
	// constraintsInfeasible is set if constraints, not the number of devices, are infeasible.
	constraintsInfeasible bool
}

func newFlowBound(offer *NodeOffer) flowBound {
	b := flowBound{
		decisions: newDecisions(offer), usedValues: make([]map[string]bool, len(offer.problem.constraints)),
	}
	for r := range b.usedValues {
		b.usedValues[r] = map[string]bool{}
	}
	return b
}

// buildFlow builds the flow for the current decisions. Requests with the same eligibility share a
// node. A request without a chosen alternative needs the smallest count among its alternatives,
// from devices of any of them.
func (f *flowBound) buildFlow() {
	p := f.offer.problem
	f.nodeOf, f.nodes = make([]int, len(p.requests)), nil
	var need []int
	byRole := map[int]int{}
	for w := range p.requests {
		eligibilities, least := f.openEligibilities(w)
		at, known := byRole[eligibilities[0]]
		if len(eligibilities) > 1 || !known {
			at = len(f.nodes)
			f.nodes, need = append(f.nodes, eligibilities), append(need, 0)
			if len(eligibilities) == 1 {
				byRole[eligibilities[0]] = at
			}
		}
		f.nodeOf[w] = at
		need[at] += least
	}
	edges := make([][]int, len(f.nodes))
	for n, eligibilities := range f.nodes {
		for c := range f.offer.cells {
			if slices.ContainsFunc(eligibilities, func(r int) bool { return f.admits(&p.eligibilities[r], &f.offer.cells[c]) }) {
				edges[n] = append(edges[n], c)
			}
		}
	}
	f.flow = newFlow(edges, need, len(f.offer.cells))
	for c := range f.offer.cells {
		f.flow.capacity[c] = f.offer.cells[c].available()
	}
}

// infeasible returns the reason if the bounds show that no allocation exists, before any decision.
func (f *flowBound) infeasible() *Reason {
	requests := f.infeasibleRequests()
	if requests == nil {
		return nil
	}
	if f.constraintsInfeasible || f.limitedByConstraints(requests) {
		return f.offer.conflict()
	}
	return f.shortage(requests)
}

// infeasibleRequests returns requests that cannot all be served according to the bounds, or nil. It
// sets constraintsInfeasible if only the constraints are in the way.
func (f *flowBound) infeasibleRequests() []int {
	for w := range f.offer.problem.requests {
		if !f.isServable(w) {
			return []int{w}
		}
	}
	if claim := f.claimOverLimit(); claim >= 0 {
		return f.requestsWhere(func(w int) bool { return f.offer.problem.requests[w].claim == claim })
	}
	if w := f.requestShortOfDevices(); w >= 0 {
		return []int{w}
	}
	f.buildFlow()
	if fits, short := f.flow.solve(); !fits {
		return f.requestsWhere(func(w int) bool { return short.Has(f.nodeOf[w]) })
	}
	countersSuffice := f.withinCounters() && f.withinCounterSums()
	f.constraintsInfeasible = countersSuffice && !f.claimsHaveValues()
	if countersSuffice && !f.constraintsInfeasible {
		return nil
	}
	return f.requestsWhere(func(int) bool { return true })
}

// requestsWhere returns the requests that satisfy a condition.
func (f *flowBound) requestsWhere(holds func(w int) bool) []int {
	var requests []int
	for w := range f.offer.problem.requests {
		if holds(w) {
			requests = append(requests, w)
		}
	}
	return requests
}

// distinctFeasible reports whether there are enough values for each distinctAttribute: each
// remaining device needs its own.
func (f *flowBound) distinctFeasible() bool {
	for r := range f.offer.problem.constraints {
		if f.offer.problem.constraints[r].distinct && !f.distinctFeasibleFor(r) {
			return false
		}
	}
	return true
}

func (f *flowBound) distinctFeasibleFor(r int) bool {
	p := f.offer.problem
	index := map[string]int{}
	edges := make([][]int, len(f.nodes))
	need := make([]int, len(f.nodes))
	for n, eligibilities := range f.nodes {
		if slices.ContainsFunc(
			eligibilities, func(eligibility int) bool { return p.eligibilities[eligibility].attributeOf(r) < 0 },
		) {
			continue
		}
		need[n] = f.flow.need[n]
		for _, c := range f.flow.edges[n] {
			if f.flow.capacity[c] == 0 {
				continue
			}
			for _, value := range f.unusedValues(r, eligibilities, &f.offer.cells[c]) {
				at, ok := index[value]
				if !ok {
					at = len(index)
					index[value] = at
				}
				if !slices.Contains(edges[n], at) {
					edges[n] = append(edges[n], at)
				}
			}
		}
	}
	distinct := newFlow(edges, need, len(index))
	for i := range distinct.capacity {
		distinct.capacity[i] = 1
	}
	fits, _ := distinct.solve()
	return fits
}

// unusedValues returns the values under the constraint that a device of the cell could still
// contribute with one of the eligibilities.
func (f *flowBound) unusedValues(r int, eligibilities []int, c *cell) []string {
	var list []string
	for _, eligibility := range eligibilities {
		values := c.values[f.offer.problem.eligibilities[eligibility].attributeOf(r)]
		if !slices.ContainsFunc(values, func(value string) bool { return f.usedValues[r][value] }) {
			list = appendMissing(list, values)
		}
	}
	return list
}
