package alloc

import (
	"cmp"
	"slices"
)

// flowBound compares what requests need with what cells have, given the decisions of the search.
// What it rejects is impossible; what it accepts may still be impossible.
type flowBound struct {
	nodeOf  []int   // by request: its node in the flow
	nodes   [][]int // by node: the eligibilities of its devices
	flow    *flow
	groups  []counterGroup
	groupOf []int // by cell; -1 if the cell takes from no counters
	// sums are the counter sums of the node.
	sums                  []counterSum
	constraintsInfeasible bool // constraints, not the number of devices, are infeasible
}

// buildFlow builds the flow for the current decisions. Requests with the same eligibility share a
// node. A request without a chosen alternative needs the smallest count among its alternatives,
// from devices of any of them.
func (s *search) buildFlow() {
	p := s.offer.problem
	s.nodeOf, s.nodes = make([]int, len(p.requests)), nil
	var need []int
	byRole := map[int]int{}
	for w := range p.requests {
		eligibilities, least := s.openEligibilities(w)
		at, known := byRole[eligibilities[0]]
		if len(eligibilities) > 1 || !known {
			at = len(s.nodes)
			s.nodes, need = append(s.nodes, eligibilities), append(need, 0)
			if len(eligibilities) == 1 {
				byRole[eligibilities[0]] = at
			}
		}
		s.nodeOf[w] = at
		need[at] += least
	}
	edges := make([][]int, len(s.nodes))
	for n, eligibilities := range s.nodes {
		for c := range s.offer.cells {
			if slices.ContainsFunc(eligibilities, func(r int) bool { return s.admits(&p.eligibilities[r], &s.offer.cells[c]) }) {
				edges[n] = append(edges[n], c)
			}
		}
	}
	s.flow = newFlow(edges, need, len(s.offer.cells))
	for c := range s.offer.cells {
		s.flow.capacity[c] = s.offer.cells[c].available()
	}
}

// openEligibilities returns the eligibilities that devices of the request can still have, and the
// minimum number of devices.
func (s *search) openEligibilities(w int) ([]int, int) {
	p := s.offer.problem
	alternatives, counts := p.requests[w].alternatives, s.offer.counts[w]
	if o := s.chosen[w]; o >= 0 {
		return []int{alternatives[o].eligibility}, max(0, counts[o])
	}
	var eligibilities []int
	least := maxDevices
	for o := range alternatives {
		if counts[o] < 0 {
			continue
		}
		eligibilities, least = append(eligibilities, alternatives[o].eligibility), min(least, counts[o])
	}
	if len(eligibilities) == 0 {
		return []int{alternatives[0].eligibility}, 0
	}
	return eligibilities, least
}

// admits reports whether devices of the cell can be used with the eligibility, given the settled
// values.
func (s *search) admits(r *eligibility, c *cell) bool {
	if !c.allows(r) {
		return false
	}
	for at, i := range r.constraints {
		if len(c.values[r.attributes[at]]) == 0 || s.settled[i] != "" && !c.hasValue(r.attributes[at], s.settled[i]) {
			return false
		}
	}
	return true
}

// decisionsFeasible reports whether the bounds allow the decisions made so far.
func (s *search) decisionsFeasible() bool {
	if s.claimOverLimit() >= 0 || s.requestShortOfDevices() >= 0 {
		return false
	}
	s.buildFlow()
	s.chargeFlow()
	fits, _ := s.flow.solve()
	return fits && s.distinctFeasible() && s.withinCounters() && s.withinCounterSums() && s.claimsHaveValues()
}

// chargeShare is the size of a flow, in requests times cells, that costs one step.
const chargeShare = 256

// chargeFlow charges steps for a large flow.
func (s *search) chargeFlow() {
	if s.budget != nil {
		s.budget.Spent += len(s.nodes) * len(s.offer.cells) / chargeShare
	}
}

// claimOverLimit returns a claim with more devices than a claim can have, or -1.
func (s *search) claimOverLimit() int {
	p := s.offer.problem
	total := 0
	for w := range p.requests {
		if w > 0 && p.requests[w].claim != p.requests[w-1].claim {
			total = 0
		}
		_, least := s.openEligibilities(w)
		if total += least; total > maxDevices {
			return p.requests[w].claim
		}
	}
	return -1
}

// requestShortOfDevices returns a request that needs more devices than there are although there are
// enough shares: a request gets at most one share of each device. It returns -1 if there is none.
func (s *search) requestShortOfDevices() int {
	p := s.offer.problem
	if !s.offer.hasShared {
		return -1
	}
	for w := range p.requests {
		eligibilities, least := s.openEligibilities(w)
		devices := 0
		for c := range s.offer.cells {
			cell := &s.offer.cells[c]
			if slices.ContainsFunc(eligibilities, func(r int) bool { return s.admits(&p.eligibilities[r], cell) }) {
				devices += len(cell.devices)
			}
		}
		if devices < least {
			return w
		}
	}
	return -1
}

// infeasible returns the reason if the bounds show that no allocation exists, before any decision.
func (s *search) infeasible() *Reason {
	requests := s.infeasibleRequests()
	if requests == nil {
		return nil
	}
	if s.constraintsInfeasible || s.limitedByConstraints(requests) {
		return s.offer.conflict()
	}
	return s.shortage(requests)
}

// infeasibleRequests returns requests that cannot all be served according to the bounds, or nil.
func (s *search) infeasibleRequests() []int {
	p := s.offer.problem
	for w := range p.requests {
		if !s.isServable(w) {
			return []int{w}
		}
	}
	var requests []int
	if claim := s.claimOverLimit(); claim >= 0 {
		for w := range p.requests {
			if p.requests[w].claim == claim {
				requests = append(requests, w)
			}
		}
		return requests
	}
	if w := s.requestShortOfDevices(); w >= 0 {
		return []int{w}
	}
	s.buildFlow()
	if fits, short := s.flow.solve(); !fits {
		for w := range p.requests {
			if short.Has(s.nodeOf[w]) {
				requests = append(requests, w)
			}
		}
	} else if s.constraintsInfeasible = s.withinCounters() && s.withinCounterSums() && !s.claimsHaveValues(); s.constraintsInfeasible || !s.withinCounters() || !s.withinCounterSums() {
		for w := range p.requests {
			requests = append(requests, w)
		}
	}
	return requests
}

// isServable reports whether the node can serve the request: its chosen alternative, or any
// alternative if none is chosen.
func (s *search) isServable(w int) bool {
	if o := s.chosen[w]; o >= 0 {
		return s.offer.counts[w][o] >= 0
	}
	return slices.ContainsFunc(s.offer.counts[w], func(count int) bool { return count >= 0 })
}

// limitedByConstraints reports whether dropping constraints would make more devices eligible.
func (s *search) limitedByConstraints(requests []int) bool {
	p := s.offer.problem
	for _, w := range requests {
		for o := range p.requests[w].alternatives {
			eligibility := &p.eligibilities[p.requests[w].alternatives[o].eligibility]
			for c := range s.offer.cells {
				if cell := &s.offer.cells[c]; cell.allows(eligibility) && !s.admits(eligibility, cell) {
					return true
				}
			}
		}
	}
	return false
}

// coveredCount returns how many devices the constraint covers, given the chosen alternatives.
func (s *search) coveredCount(r int) int {
	p := s.offer.problem
	n := 0
	from, to := p.rangeOf(p.constraints[r].claim)
	for w := from.requests; w < to.requests; w++ {
		if o := s.chosen[w]; o >= 0 && slices.Contains(p.eligibilities[p.requests[w].alternatives[o].eligibility].constraints, r) {
			n += s.offer.counts[w][o]
		}
	}
	return n
}

// candidateValues returns the values that a matchAttribute could settle on because enough devices
// have them. Values are ordered: first those with devices that need no preparation, then those of
// local devices, then those with the fewest devices, to avoid breaking up larger groups.
func (s *search) candidateValues(r int) []string {
	room, ready := map[string]int{}, map[string]int{}
	local := map[string]bool{}
	var list []string
	for c := range s.offer.cells {
		cell := &s.offer.cells[c]
		for _, value := range s.offeredValues(r, cell) {
			if room[value] == 0 {
				list = append(list, value)
				local[value] = s.offer.isLocal(cell)
			}
			room[value] += cell.available()
			if !cell.hasBindingConditions {
				ready[value] += cell.available()
			}
		}
	}
	needed := s.coveredCount(r)
	list = slices.DeleteFunc(list, func(value string) bool { return room[value] < needed })
	slices.SortStableFunc(list, func(x, y string) int {
		return cmp.Or(
			cmp.Compare(boolRank(ready[x] < needed), boolRank(ready[y] < needed)),
			cmp.Compare(boolRank(!local[x]), boolRank(!local[y])),
			cmp.Compare(room[x], room[y]),
		)
	})
	return list
}

// offeredValues returns the values under the constraint that a covered request could get from the
// cell.
func (s *search) offeredValues(r int, c *cell) []string {
	p := s.offer.problem
	var list []string
	asked := map[int]bool{}
	for w := range p.requests {
		o := s.chosen[w]
		if o < 0 {
			continue
		}
		eligibility := &p.eligibilities[p.requests[w].alternatives[o].eligibility]
		attribute := eligibility.attributeOf(r)
		if attribute < 0 || asked[attribute] || !s.admits(eligibility, c) {
			continue
		}
		asked[attribute] = true
		list = appendMissing(list, c.values[attribute])
	}
	return list
}

func appendMissing(list, more []string) []string {
	for _, value := range more {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

// distinctFeasible reports whether there are enough values for each distinctAttribute: each
// remaining device needs its own.
func (s *search) distinctFeasible() bool {
	for r := range s.offer.problem.constraints {
		if s.offer.problem.constraints[r].distinct && !s.distinctFeasibleFor(r) {
			return false
		}
	}
	return true
}

func (s *search) distinctFeasibleFor(r int) bool {
	p := s.offer.problem
	index := map[string]int{}
	edges := make([][]int, len(s.nodes))
	need := make([]int, len(s.nodes))
	for n, eligibilities := range s.nodes {
		if slices.ContainsFunc(eligibilities, func(eligibility int) bool { return p.eligibilities[eligibility].attributeOf(r) < 0 }) {
			continue
		}
		need[n] = s.flow.need[n]
		for _, c := range s.flow.edges[n] {
			if s.flow.capacity[c] == 0 {
				continue
			}
			for _, value := range s.unusedValues(r, eligibilities, &s.offer.cells[c]) {
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
	f := newFlow(edges, need, len(index))
	for i := range f.capacity {
		f.capacity[i] = 1
	}
	fits, _ := f.solve()
	return fits
}

// unusedValues returns the values under the constraint that a device of the cell could still
// contribute with one of the eligibilities.
func (s *search) unusedValues(r int, eligibilities []int, c *cell) []string {
	var list []string
	for _, eligibility := range eligibilities {
		values := c.values[s.offer.problem.eligibilities[eligibility].attributeOf(r)]
		if !slices.ContainsFunc(values, func(value string) bool { return s.usedValues[r][value] }) {
			list = appendMissing(list, values)
		}
	}
	return list
}
