package alloc

import (
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Choice is one way to allocate the claims of a Problem: one allocation per claim, in the order of
// the claims.
type Choice []*model.Allocation

// Key returns a string that is equal for choices of the same devices that can be used from the same
// nodes. The node matters for devices that bind the claim to the node it was allocated for.
func (c Choice) Key() string {
	var b strings.Builder
	for _, allocation := range c {
		for _, device := range allocation.Devices {
			b.WriteString(model.DeviceIDOf(device).String() + " ")
		}
		if node, ok := selectedNode(allocation.NodeSelector); ok {
			b.WriteString("on " + node)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// Outcome is the way in which a search ended.
type Outcome int

// Accepted means that the caller accepted a choice, Exhausted that there are no more choices, and
// OutOfBudget that the budget is spent.
const (
	Accepted Outcome = iota
	Exhausted
	OutOfBudget
)

// Search calls accept with choices, best first, until it returns true: earlier alternatives of
// earlier requests come before later ones. Choices that differ only in interchangeable devices are
// tried once. accept may change the State if it restores it before returning false.
func (offer *NodeOffer) Search(budget *Budget, accept func(Choice) bool) Outcome {
	s := offer.initial
	if offer.initial = nil; s == nil {
		s = newSearch(offer)
	}
	s.budget, s.accept, s.anySolution = budget, accept, false
	return s.chooseAlternatives(0)
}

// Best returns the best choice, unless there is none or the budget is spent.
func (offer *NodeOffer) Best(budget *Budget) (Choice, Outcome) {
	if offer.best != nil {
		return offer.best, Accepted
	}
	s := offer.initial
	if offer.initial = nil; s == nil {
		s = newSearch(offer)
	}
	var first Choice
	s.budget, s.anySolution = budget, true
	s.accept = func(c Choice) bool {
		first = c
		return true
	}
	outcome := s.chooseAlternatives(0)
	return first, outcome
}

// search decides, in order: the alternative for each request, the value for each matchAttribute
// constraint, and one device after the other. After each decision, bounds are checked for what
// remains.
type search struct {
	flowBound
	budget      *Budget
	accept      func(Choice) bool
	anySolution bool       // any solution will do, so that one of several equivalent solutions is enough
	valueOrder  [][]string // values in the order in which they are tried, by constraint

	slots       []slot
	assignments []assignment
	// The next two fields are set only in a search for any solution; see orderByCompetition.
	independent []bool          // slot does not compete with earlier slots, by slot
	previous    []int           // previous slot with the same eligibility or -1, by slot
	unsolvable  bool            // the settled values have no solution
	slotsStart  int             // steps spent before the first slot
	deadEnds    map[string]bool // see stateKey
	keyBuffer   []byte
}

// slot is one device of a request.
type slot struct {
	request, eligibility int
	number               int // position in the order of requests
	group                int // group of competing slots
}

type assignment struct {
	cell, device int
}

func newSearch(offer *NodeOffer) *search {
	return &search{
		flowBound: newFlowBound(offer), valueOrder: make([][]string, len(offer.problem.constraints)),
	}
}

// chooseAlternatives chooses alternatives for the requests from w on.
func (s *search) chooseAlternatives(w int) Outcome {
	requests := s.offer.problem.requests
	for w < len(requests) && len(requests[w].alternatives) == 1 {
		w++
	}
	if w == len(requests) {
		if !s.configFits() {
			return Exhausted
		}
		return s.settleValues(0)
	}
	outcome := Exhausted
	for o := 0; o < len(requests[w].alternatives) && outcome == Exhausted; o++ {
		if s.offer.counts[w][o] < 0 {
			continue
		}
		if !s.budget.Step() {
			return OutOfBudget
		}
		if s.chosen[w] = o; s.decisionsFeasible() {
			outcome = s.chooseAlternatives(w + 1)
		}
		s.chosen[w] = -1
	}
	return outcome
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

// settleValues chooses values for the matchAttribute constraints from r on.
func (s *search) settleValues(r int) Outcome {
	rules := s.offer.problem.constraints
	for r < len(rules) && (rules[r].distinct || s.coveredCount(r) == 0) {
		r++
	}
	if r == len(rules) {
		return s.startSlots()
	}
	s.valueOrder[r] = s.candidateValues(r)
	outcome := Exhausted
	for i := s.firstValue(r); i < len(s.valueOrder[r]) && outcome == Exhausted; i++ {
		if s.isEquivalentValue(r, i) {
			continue
		}
		if !s.budget.Step() {
			return OutOfBudget
		}
		if s.settled[r] = s.valueOrder[r][i]; s.decisionsFeasible() {
			outcome = s.settleValues(r + 1)
		}
		s.settled[r] = ""
	}
	return outcome
}

// startSlots creates the slots and fills them.
func (s *search) startSlots() Outcome {
	s.slots = s.slots[:0]
	for w := range s.offer.problem.requests {
		eligibility := s.offer.problem.requests[w].alternatives[s.chosen[w]].eligibility
		for range s.offer.counts[w][s.chosen[w]] {
			s.slots = append(s.slots, slot{request: w, eligibility: eligibility, number: len(s.slots)})
		}
	}
	if len(s.assignments) < len(s.slots) {
		s.assignments = make([]assignment, len(s.slots))
	}
	if s.flow == nil { // otherwise it was built for the last decision
		s.buildFlow()
	}
	if s.anySolution {
		s.orderByCompetition()
		s.unsolvable, s.slotsStart, s.deadEnds = false, s.budget.Spent, nil
	}
	return s.fillSlots(0)
}

// fillSlots assigns devices to the slots from at on.
func (s *search) fillSlots(at int) Outcome {
	if at == len(s.slots) {
		return s.offerSolution()
	}
	situation := ""
	if s.canMemoize() {
		if situation = s.stateKey(at); s.deadEnds[situation] {
			return Exhausted
		}
	}
	f, node := s.flow, s.nodeOf[s.slots[at].request]
	f.need[node]--
	outcome := s.tryCells(at)
	f.need[node]++
	if outcome == Exhausted && s.anySolution {
		s.recordDeadEnd(at, situation)
	}
	return outcome
}

// offerSolution has the caller accept the devices of all slots, unless it has seen them before.
func (s *search) offerSolution() Outcome {
	if !s.anySolution && s.isDuplicate() || !s.accept(s.offer.choice(s)) {
		return Exhausted
	}
	return Accepted
}

// tryCells assigns a device of one cell after the other to the slot, and fills the later slots.
func (s *search) tryCells(at int) Outcome {
	first := s.firstCell(at)
	last := s.lastCell(at, first)
	for c := first; c <= last && !s.unsolvable; c++ {
		cell := &s.offer.cells[c]
		if cell.shared == nil && cell.used == len(cell.devices) || !s.slotAccepts(at, c) {
			continue
		}
		if !s.budget.Step() {
			return OutOfBudget
		}
		s.assignments[at] = assignment{cell: c, device: cell.nextDevice()}
		s.assign(at, c, 1)
		outcome := Exhausted
		if s.slotsFeasible() {
			outcome = s.fillSlots(at + 1)
		}
		if s.assign(at, c, -1); outcome != Exhausted {
			return outcome
		}
	}
	return Exhausted
}

// recordDeadEnd records that the slots from at on cannot be filled. situation is the key of the
// devices that were left, or "".
func (s *search) recordDeadEnd(at int, situation string) {
	s.unsolvable = s.unsolvable || s.independent[at]
	if situation == "" {
		return
	}
	if s.deadEnds == nil {
		s.deadEnds = map[string]bool{}
	}
	s.deadEnds[situation] = true
}

// assign assigns a device of the cell to the slot (by = 1), or reverts that (by = -1).
func (s *search) assign(at, c, by int) {
	cell := &s.offer.cells[c]
	cell.used += by
	if len(cell.usage.amounts) > 0 && cell.chargesCounters(by) {
		cell.usage.consume(s.offer.counters[cell.view].remaining, int64(by))
	}
	if cell.shared != nil && cell.adminClaim < 0 {
		cell.shared.adjust(cell.shared.consumes[s.offer.problem.eligibilities[s.slots[at].eligibility].selection], by)
	}
	s.flow.capacity[c] -= by
	eligibility := &s.offer.problem.eligibilities[s.slots[at].eligibility]
	for i, r := range eligibility.constraints {
		if !s.offer.problem.constraints[r].distinct {
			continue
		}
		for _, value := range cell.values[eligibility.attributes[i]] {
			s.usedValues[r][value] = by > 0
		}
	}
}

// nextDevice returns the next device of the cell.
func (c *cell) nextDevice() int {
	if c.shared != nil {
		return c.devices[0]
	}
	return c.devices[c.used]
}

// chargesCounters reports whether counters change when a device is assigned or taken back. For a
// shared device they change only with the first share.
func (c *cell) chargesCounters(by int) bool {
	return c.shared == nil || by > 0 && c.used == 1 || by < 0 && c.used == 0
}

// slotAccepts reports whether the slot can use a device of the cell in addition to the assignments
// so far.
func (s *search) slotAccepts(at, c int) bool {
	cell := &s.offer.cells[c]
	eligibility := &s.offer.problem.eligibilities[s.slots[at].eligibility]
	if !s.admits(eligibility, cell) {
		return false
	}
	// What the device itself takes was checked for its first share.
	if isFirst := cell.shared == nil || cell.used == 0; isFirst && !(s.countersAllow(cell) && s.compatible(at, cell)) {
		return false
	}
	if cell.shared != nil && (!cell.shared.fits(cell.shared.consumes[eligibility.selection]) || s.hasShare(at, c)) {
		return false
	}
	return s.valuesUnused(eligibility, cell) &&
		(eligibility.adminClaim < 0 || !s.claimHas(at, eligibility.adminClaim, cell))
}

// countersAllow reports whether the counters of the cell's pool suffice for one device more.
func (s *search) countersAllow(cell *cell) bool {
	return len(cell.usage.amounts) == 0 || cell.usage.shortCounter(s.offer.counters[cell.view].remaining) < 0
}

// valuesUnused reports whether no assigned device has a value of the cell for a distinctAttribute.
func (s *search) valuesUnused(eligibility *eligibility, cell *cell) bool {
	for i, r := range eligibility.constraints {
		if !s.offer.problem.constraints[r].distinct {
			continue
		}
		for _, value := range cell.values[eligibility.attributes[i]] {
			if s.usedValues[r][value] {
				return false
			}
		}
	}
	return true
}

// hasShare reports whether the request already has a share of the device. A request needs as many
// devices as its count.
func (s *search) hasShare(at, c int) bool {
	for before := at - 1; before >= 0 && s.slots[before].request == s.slots[at].request; before-- {
		if s.assignments[before].cell == c {
			return true
		}
	}
	return false
}

// claimHas reports whether the claim already has the next device of the cell, with or without admin
// access.
func (s *search) claimHas(at, claim int, c *cell) bool {
	if c.shared != nil {
		return false
	}
	device := c.nextDevice()
	for before := range at {
		other := &s.offer.cells[s.assignments[before].cell]
		if s.offer.problem.requests[s.slots[before].request].claim == claim && other.view == c.view &&
			s.assignments[before].device == device {
			return true
		}
	}
	return false
}

// slotsFeasible reports whether the bounds allow the remaining slots. With a single selection there
// is nothing to check: the first solution remains valid whichever devices of its cells are used.
func (s *search) slotsFeasible() bool {
	if s.offer.problem.isSimple() && len(s.offer.problem.selections) == 1 && s.offer.counters == nil &&
		!s.offer.hasShared {
		return true
	}
	s.chargeFlow()
	fits, _ := s.flow.solve()
	return fits && s.distinctFeasible() && s.withinCounters() && s.withinCounterSums()
}

// firstCell returns the first cell to try for a slot. Interchangeable slots use cells in ascending
// order.
func (s *search) firstCell(at int) int {
	p := s.offer.problem
	mine := s.slots[at]
	for before := at - 1; before >= 0; before-- {
		other := s.slots[before]
		if s.offer.hasShared && other.request != mine.request {
			// a request cannot have two shares of one device, so that slots are not interchangeable
			return 0
		}
		if other.eligibility == mine.eligibility &&
			(s.anySolution || p.swappable || p.requests[other.request].claim == p.requests[mine.request].claim) {
			return s.assignments[before].cell
		}
	}
	return 0
}

// lastCell returns the last cell that leaves enough devices for the later slots of the same
// request, which use cells in ascending order. It is less than first if there is none.
func (s *search) lastCell(at, first int) int {
	needed := 1
	for next := at + 1; next < len(s.slots) && s.slots[next].request == s.slots[at].request; next++ {
		needed++
	}
	eligibility := &s.offer.problem.eligibilities[s.slots[at].eligibility]
	last := len(s.offer.cells) - 1
	for ; last >= first; last-- {
		cell := &s.offer.cells[last]
		if !s.admits(eligibility, cell) {
			continue
		}
		switch {
		case cell.shared == nil:
			needed -= len(cell.devices) - cell.used
		case cell.shared.fits(cell.shared.consumes[eligibility.selection]):
			needed-- // one share per request
		}
		if needed <= 0 {
			break
		}
	}
	return last
}

// isDuplicate reports whether the same devices were offered for an earlier value: with list
// attributes, devices can have several values in common.
func (s *search) isDuplicate() bool {
	for r, chosen := range s.settled {
		if chosen == "" {
			continue
		}
		for _, earlier := range s.valueOrder[r] {
			if earlier == chosen {
				break
			}
			if s.allHaveValue(r, earlier) {
				return true
			}
		}
	}
	return false
}

// allHaveValue reports whether all devices covered by the constraint have the value.
func (s *search) allHaveValue(r int, value string) bool {
	p := s.offer.problem
	for at := range s.slots {
		attribute := p.eligibilities[s.slots[at].eligibility].attributeOf(r)
		if attribute >= 0 && !s.offer.cells[s.assignments[at].cell].hasValue(attribute, value) {
			return false
		}
	}
	return true
}
