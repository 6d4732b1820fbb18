package alloc

import (
	"cmp"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
)

// decisions are made by a search before it assigns devices: an alternative for each request, and a
// value for each matchAttribute.
type decisions struct {
	offer   *NodeOffer
	chosen  []int    // alternative by request; -1 while undecided
	settled []string // value of a matchAttribute by constraint; "" while undecided
}

func newDecisions(offer *NodeOffer) decisions {
	p := offer.problem
	d := decisions{offer: offer, chosen: make([]int, len(p.requests)), settled: make([]string, len(p.constraints))}
	for w := range p.requests {
		if len(p.requests[w].alternatives) > 1 {
			d.chosen[w] = -1
		}
	}
	return d
}

// openEligibilities returns the eligibilities that devices of the request can still have, and the
// minimum number of devices.
func (d *decisions) openEligibilities(w int) ([]int, int) {
	p := d.offer.problem
	alternatives, counts := p.requests[w].alternatives, d.offer.counts[w]
	if o := d.chosen[w]; o >= 0 {
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
func (d *decisions) admits(r *eligibility, c *cell) bool {
	if !c.allows(r) {
		return false
	}
	for at, i := range r.constraints {
		if len(c.values[r.attributes[at]]) == 0 || d.settled[i] != "" && !c.hasValue(r.attributes[at], d.settled[i]) {
			return false
		}
	}
	return true
}

// claimOverLimit returns a claim with more devices than a claim can have, or -1.
func (d *decisions) claimOverLimit() int {
	p := d.offer.problem
	total := 0
	for w := range p.requests {
		if w > 0 && p.requests[w].claim != p.requests[w-1].claim {
			total = 0
		}
		_, least := d.openEligibilities(w)
		if total += least; total > maxDevices {
			return p.requests[w].claim
		}
	}
	return -1
}

// requestShortOfDevices returns a request that needs more devices than there are although there are
// enough shares: a request gets at most one share of each device. It returns -1 if there is none.
func (d *decisions) requestShortOfDevices() int {
	p := d.offer.problem
	if !d.offer.hasShared {
		return -1
	}
	for w := range p.requests {
		eligibilities, least := d.openEligibilities(w)
		devices := 0
		for c := range d.offer.cells {
			cell := &d.offer.cells[c]
			if slices.ContainsFunc(eligibilities, func(r int) bool { return d.admits(&p.eligibilities[r], cell) }) {
				devices += len(cell.devices)
			}
		}
		if devices < least {
			return w
		}
	}
	return -1
}

// isServable reports whether the node can serve the request: its chosen alternative, or any
// alternative if none is chosen.
func (d *decisions) isServable(w int) bool {
	if o := d.chosen[w]; o >= 0 {
		return d.offer.counts[w][o] >= 0
	}
	return slices.ContainsFunc(d.offer.counts[w], func(count int) bool { return count >= 0 })
}

// limitedByConstraints reports whether dropping constraints would make more devices eligible.
func (d *decisions) limitedByConstraints(requests []int) bool {
	p := d.offer.problem
	for _, w := range requests {
		for o := range p.requests[w].alternatives {
			eligibility := &p.eligibilities[p.requests[w].alternatives[o].eligibility]
			for c := range d.offer.cells {
				if cell := &d.offer.cells[c]; cell.allows(eligibility) && !d.admits(eligibility, cell) {
					return true
				}
			}
		}
	}
	return false
}

// coveredCount returns how many devices the constraint covers, given the chosen alternatives.
func (d *decisions) coveredCount(r int) int {
	p := d.offer.problem
	n := 0
	from, to := p.rangeOf(p.constraints[r].claim)
	for w := from.requests; w < to.requests; w++ {
		if o := d.chosen[w]; o >= 0 &&
			slices.Contains(p.eligibilities[p.requests[w].alternatives[o].eligibility].constraints, r) {
			n += d.offer.counts[w][o]
		}
	}
	return n
}

// candidateValues returns the values that a matchAttribute could settle on because enough devices
// have them. Values are ordered: first those with devices that need no preparation, then those of
// local devices, then those with the fewest devices, to avoid breaking up larger groups.
func (d *decisions) candidateValues(r int) []string {
	room, ready := map[string]int{}, map[string]int{}
	local := map[string]bool{}
	var list []string
	for c := range d.offer.cells {
		cell := &d.offer.cells[c]
		for _, value := range d.offeredValues(r, cell) {
			if room[value] == 0 {
				list = append(list, value)
				local[value] = d.offer.isLocal(cell)
			}
			room[value] += cell.available()
			if !cell.hasBindingConditions {
				ready[value] += cell.available()
			}
		}
	}
	needed := d.coveredCount(r)
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
func (d *decisions) offeredValues(r int, c *cell) []string {
	p := d.offer.problem
	var list []string
	asked := map[int]bool{}
	for w := range p.requests {
		o := d.chosen[w]
		if o < 0 {
			continue
		}
		eligibility := &p.eligibilities[p.requests[w].alternatives[o].eligibility]
		attribute := eligibility.attributeOf(r)
		if attribute < 0 || asked[attribute] || !d.admits(eligibility, c) {
			continue
		}
		asked[attribute] = true
		list = appendMissing(list, c.values[attribute])
	}
	return list
}

// alternativeScore scores the chosen alternatives as kube-scheduler does: 8 for the first
// alternative of a request, 7 for the second, and so on.
func (d *decisions) alternativeScore() int64 {
	score := int64(0)
	for w := range d.chosen {
		if len(d.offer.problem.requests[w].alternatives) > 1 {
			score += int64(resourcev1.FirstAvailableDeviceRequestMaxSize - d.chosen[w])
		}
	}
	return score
}

func appendMissing(list, more []string) []string {
	for _, value := range more {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}
