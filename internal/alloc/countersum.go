package alloc

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Counting how many of the smallest devices fit is a weak bound if requests need devices of
// different sizes. A counterSum gives a better one: each request takes at least the usage of the
// smallest device that could serve it.

// counterSum adds up counters of a node: a single counter; counters of one set with equal totals,
// for example the memory slices of a GPU; or counters of the same name in all sets.
type counterSum struct {
	counters []viewCounter
	usage    []int64 // usage of one device, by cell
}

// viewCounter identifies a counter of a pool.
type viewCounter struct{ view, counter int }

// counterSums returns all sums that are worth checking.
func (offer *NodeOffer) counterSums(groups []counterGroup) []counterSum {
	var list []counterSum
	byName := map[string][]viewCounter{}
	var names []string
	for _, h := range groups {
		table := offer.counters[h.view]
		byTotal := map[int64][]viewCounter{}
		var totals []int64
		for _, counter := range h.counters {
			at := viewCounter{h.view, counter}
			list = offer.appendCounterSum(list, h.cells, at)
			if total := table.total[counter]; table.units[counter].Key() == "" {
				if byTotal[total] == nil {
					totals = append(totals, total)
				}
				byTotal[total] = append(byTotal[total], at)
			}
			_, name, _ := strings.Cut(table.names[counter], "/")
			name = table.units[counter].Key() + " " + name
			if byName[name] == nil {
				names = append(names, name)
			}
			byName[name] = append(byName[name], at)
		}
		for _, total := range totals {
			if len(byTotal[total]) > 1 {
				list = offer.appendCounterSum(list, h.cells, byTotal[total]...)
			}
		}
	}
	if len(groups) > 1 {
		all := make([]int, len(offer.cells))
		for c := range all {
			all[c] = c
		}
		for _, name := range names {
			list = offer.appendCounterSum(list, all, byName[name]...)
		}
	}
	return list
}

// appendCounterSum appends the sum of the counters, unless no device takes from them.
func (offer *NodeOffer) appendCounterSum(list []counterSum, cells []int, counters ...viewCounter) []counterSum {
	w, some := counterSum{counters: counters, usage: make([]int64, len(offer.cells))}, false
	for _, c := range cells {
		if cell := &offer.cells[c]; cell.usesCounters() {
			for _, at := range counters {
				if at.view == cell.view {
					w.usage[c] = model.AddAmounts(w.usage[c], cell.usage.amountOf(at.counter))
				}
			}
			some = some || w.usage[c] > 0
		}
	}
	if !some {
		return list
	}
	return append(list, w)
}

// remaining returns the sum of what the counters have left.
func (s *counterSum) remaining(offer *NodeOffer) int64 {
	sum := int64(0)
	for _, at := range s.counters {
		sum = model.AddAmounts(sum, max(0, offer.counters[at.view].remaining[at.counter]))
	}
	return sum
}

// minUsage returns the smallest usage among the cells with devices left.
func (s *counterSum) minUsage(cells, room []int) int64 {
	least := int64(math.MaxInt64)
	for _, c := range cells {
		if room[c] == 0 {
			continue
		}
		if least = min(least, s.usage[c]); least == 0 {
			return 0
		}
	}
	return least
}

// multiply returns a*n, or the largest int64 on overflow.
func multiply(a int64, n int) int64 {
	if n > 0 && a > math.MaxInt64/int64(n) {
		return math.MaxInt64
	}
	return a * int64(n)
}

// withinCounterSums reports whether the counters have enough left for the smallest devices that
// could serve the remaining requests.
func (f *flowBound) withinCounterSums() bool {
	overdrawn, _ := f.exceededSum()
	return overdrawn == nil
}

// exceededSum returns a sum of counters with too little left and the amount needed, or nil.
func (f *flowBound) exceededSum() (*counterSum, int64) {
	for i := range f.sums {
		w := &f.sums[i]
		demand := int64(0)
		for n, need := range f.flow.need {
			if need > 0 {
				demand = model.AddAmounts(demand, multiply(w.minUsage(f.flow.edges[n], f.flow.capacity), need))
			}
		}
		if demand > w.remaining(f.offer) {
			return w, demand
		}
	}
	return nil, 0
}

// format describes the amount needed and left.
func (s *counterSum) format(offer *NodeOffer, needed int64) string {
	table, first := offer.counters[s.counters[0].view], s.counters[0].counter
	name := "counter " + table.names[first]
	if more := len(s.counters) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s needed of %s, %s left", table.format(first, needed), name,
		table.format(first, s.remaining(offer)))
}

// claimsHaveValues reports whether there are enough attribute values for equal claims with a
// matchAttribute: each value has devices for a limited number of claims.
func (f *flowBound) claimsHaveValues() bool {
	p := f.offer.problem
	for c := 0; c < len(p.claims); {
		end := c + 1
		for end < len(p.claims) && p.isLikePrevious(end) {
			end++
		}
		if !f.enoughValues(c, end) {
			return false
		}
		c = end
	}
	return true
}

// enoughValues reports whether the attribute values of the first matchAttribute of the claims,
// which are equal, suffice for the claims without a settled value. They do for claims with admin
// access, which can use the same devices.
func (f *flowBound) enoughValues(from, to int) bool {
	p := f.offer.problem
	if hasAdminAccess(p.claims[from]) {
		return true
	}
	open := make([]bool, len(p.requests)) // requests of claims without a settled value
	first, claims := -1, 0
	for c := from; c < to; c++ {
		r := f.firstMatchConstraint(c)
		if r < 0 {
			return true
		}
		if f.settled[r] != "" {
			continue
		}
		if claims++; first < 0 {
			first = r
		} else if !f.sameAlternatives(p.constraints[first].claim, c) {
			return true
		}
		for _, w := range f.requestsOf(c) {
			open[w] = true
		}
	}
	if claims == 0 ||
		slices.ContainsFunc(f.requestsOf(p.constraints[first].claim), func(w int) bool { return f.chosen[w] < 0 }) {
		return true
	}
	others := f.demandExcept(open)
	bears := 0
	for value, cells := range f.cellsByValue(first) {
		if bears += f.claimsPerValue(first, value, cells, others, claims-bears); bears >= claims {
			return true
		}
	}
	return false
}

// firstMatchConstraint returns the first matchAttribute constraint of a claim that covers devices,
// or -1.
func (d *decisions) firstMatchConstraint(claim int) int {
	from, to := d.offer.problem.rangeOf(claim)
	for r := from.constraints; r < to.constraints; r++ {
		if !d.offer.problem.constraints[r].distinct && d.coveredCount(r) > 0 {
			return r
		}
	}
	return -1
}

func (d *decisions) requestsOf(claim int) []int {
	from, to := d.offer.problem.rangeOf(claim)
	list := make([]int, 0, to.requests-from.requests)
	for w := from.requests; w < to.requests; w++ {
		list = append(list, w)
	}
	return list
}

// demandExcept returns for each counter sum the usage of the smallest devices for all requests
// outside of open.
func (f *flowBound) demandExcept(open []bool) []int64 {
	demand := make([]int64, len(f.sums))
	for i := range f.sums {
		w := &f.sums[i]
		for request, n := range f.nodeOf {
			if _, least := f.openEligibilities(request); !open[request] && least > 0 {
				demand[i] = model.AddAmounts(demand[i], multiply(w.minUsage(f.flow.edges[n], f.flow.capacity), least))
			}
		}
	}
	return demand
}

// cellsByValue returns the cells by the attribute values they offer under the constraint.
func (d *decisions) cellsByValue(r int) map[string][]int {
	values := map[string][]int{}
	for c := range d.offer.cells {
		for _, value := range d.offeredValues(r, &d.offer.cells[c]) {
			values[value] = append(values[value], c)
		}
	}
	return values
}

// claimsPerValue returns an upper bound, at most most, for the claims like that of the constraint
// that can use one value.
func (f *flowBound) claimsPerValue(r int, value string, cells []int, others []int64, limit int) int {
	p := f.offer.problem
	type part struct {
		count int
		cells []int
	}
	var parts []part
	for _, w := range f.requestsOf(p.constraints[r].claim) {
		eligibility := &p.eligibilities[p.requests[w].alternatives[f.chosen[w]].eligibility]
		attribute := eligibility.attributeOf(r)
		if attribute < 0 {
			continue
		}
		demand, room := part{count: f.offer.counts[w][f.chosen[w]]}, 0
		for _, c := range cells {
			if cell := &f.offer.cells[c]; f.admits(eligibility, cell) && cell.hasValue(attribute, value) {
				demand.cells = append(demand.cells, c)
				room += f.flow.capacity[c]
			}
		}
		if demand.count > 0 {
			limit = min(limit, room/demand.count)
			parts = append(parts, demand)
		}
	}
	for i := range f.sums {
		w, each := &f.sums[i], int64(0)
		for _, demand := range parts {
			each = model.AddAmounts(each, multiply(w.minUsage(demand.cells, f.flow.capacity), demand.count))
		}
		if each > 0 {
			limit = min(limit, int(max(0, w.remaining(f.offer)-others[i])/each))
		}
	}
	return limit
}
