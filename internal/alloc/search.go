package alloc

import (
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Choice is one way to allocate the claims of a Problem: an allocation each, in the order of the claims.
type Choice []*model.Allocation

// Key is equal for choices of the same devices that can be used from the same nodes: some devices tie a claim to the node
// that it was allocated for.
func (c Choice) Key() string {
	var b strings.Builder
	for _, allocation := range c {
		for _, device := range allocation.Devices {
			b.WriteString(model.DeviceIDOf(device).String() + " ")
		}
		if node, ok := tiedTo(allocation.NodeSelector); ok {
			b.WriteString("on " + node)
		}
		b.WriteByte(';')
	}
	return b.String()
}

// Outcome is how a search ended.
type Outcome int

// A search ends because its caller accepted a choice, because there is no other, or because the budget is spent.
const (
	Accepted Outcome = iota
	Exhausted
	OutOfBudget
)

// Search offers choices, best first, until one is accepted: with earlier alternatives of earlier requests before
// later ones. Two choices that differ only in devices of which nobody can tell the difference are offered once. The
// State may be changed while accept runs, if it is as before when accept answers false.
func (b *Board) Search(budget *Budget, accept func(Choice) bool) Outcome {
	s := b.start
	if b.start = nil; s == nil {
		s = newSearch(b)
	}
	s.budget, s.accept, s.any = budget, accept, false
	return s.choose(0)
}

// First is the best choice, unless there is none or the budget is spent.
func (b *Board) First(budget *Budget) (Choice, Outcome) {
	if b.first != nil {
		return b.first, Accepted
	}
	s := b.start
	if b.start = nil; s == nil {
		s = newSearch(b)
	}
	var first Choice
	s.budget, s.any = budget, true
	s.accept = func(c Choice) bool {
		first = c
		return true
	}
	outcome := s.choose(0)
	return first, outcome
}

// search decides step by step: which alternative serves each request; which value each matchAttribute constraint
// settles on; and then one device after the other. After each step, counts say whether the rest can still be done.
type search struct {
	board  *Board
	budget *Budget
	accept func(Choice) bool
	any    bool // any solution is accepted, so that of those that are alike one is enough

	chosen []int      // by want: its option; -1 while undecided
	value  []string   // by rule: what a matchAttribute settles on; "" while undecided
	tried  [][]string // by rule: its values in the order in which they are tried
	supply

	slots []slot
	picks []pick
	// Of a search for any solution; see separate.
	heads  []bool          // by slot: it competes with none before it
	before []int           // by slot: the one before it in the same role, or -1
	dead   bool            // the values that were settled on have no solution
	begun  int             // steps spent before the first slot
	vain   map[string]bool // see situation
	key    []byte
	used   []map[string]bool // by rule: values that a distinctAttribute has given away
}

// slot is one device of a want.
type slot struct {
	want, role int
	number     int // in the order of the wants
	group      int // of slots that compete
}

type pick struct {
	cell, device int
}

func newSearch(b *Board) *search {
	p := b.problem
	s := &search{board: b, chosen: make([]int, len(p.wants)), value: make([]string, len(p.rules))}
	s.tried, s.used = make([][]string, len(p.rules)), make([]map[string]bool, len(p.rules))
	for w := range p.wants {
		if len(p.wants[w].options) > 1 {
			s.chosen[w] = -1
		}
	}
	for r := range p.rules {
		s.used[r] = map[string]bool{}
	}
	return s
}

// choose takes an alternative for each want from this one on.
func (s *search) choose(w int) Outcome {
	wants := s.board.problem.wants
	for w < len(wants) && len(wants[w].options) == 1 {
		w++
	}
	if w == len(wants) {
		if !s.configurable() {
			return Exhausted
		}
		return s.settle(0)
	}
	outcome := Exhausted
	for o := 0; o < len(wants[w].options) && outcome == Exhausted; o++ {
		if s.board.counts[w][o] < 0 {
			continue
		}
		if !s.budget.Step() {
			return OutOfBudget
		}
		if s.chosen[w] = o; s.possible() {
			outcome = s.choose(w + 1)
		}
		s.chosen[w] = -1
	}
	return outcome
}

// earlier scores the chosen alternatives as Kubernetes does: the first of a request counts 8, the next 7, and so on.
func (s *search) earlier() int64 {
	score := int64(0)
	for w := range s.chosen {
		if len(s.board.problem.wants[w].options) > 1 {
			score += int64(resourcev1.FirstAvailableDeviceRequestMaxSize - s.chosen[w])
		}
	}
	return score
}

// settle takes a value for each matchAttribute from this rule on.
func (s *search) settle(r int) Outcome {
	rules := s.board.problem.rules
	for r < len(rules) && (rules[r].distinct || s.covered(r) == 0) {
		r++
	}
	if r == len(rules) {
		return s.begin()
	}
	s.tried[r] = s.values(r)
	outcome := Exhausted
	for i := s.firstValue(r); i < len(s.tried[r]) && outcome == Exhausted; i++ {
		if s.mirrored(r, i) {
			continue
		}
		if !s.budget.Step() {
			return OutOfBudget
		}
		if s.value[r] = s.tried[r][i]; s.possible() {
			outcome = s.settle(r + 1)
		}
		s.value[r] = ""
	}
	return outcome
}

// begin goes over to single devices.
func (s *search) begin() Outcome {
	s.slots = s.slots[:0]
	for w := range s.board.problem.wants {
		role := s.board.problem.wants[w].options[s.chosen[w]].role
		for range s.board.counts[w][s.chosen[w]] {
			s.slots = append(s.slots, slot{want: w, role: role, number: len(s.slots)})
		}
	}
	if len(s.picks) < len(s.slots) {
		s.picks = make([]pick, len(s.slots))
	}
	if s.flow == nil { // else it was laid out for the last decision
		s.connect()
	}
	if s.any {
		s.separate()
		s.dead, s.begun, s.vain = false, s.budget.Spent, nil
	}
	return s.place(0)
}

func (s *search) place(at int) Outcome {
	if at == len(s.slots) {
		if !s.any && s.isRepeat() || !s.accept(s.board.choice(s)) {
			return Exhausted
		}
		return Accepted
	}
	situation := ""
	if s.remembers() {
		if situation = s.situation(at); s.vain[situation] {
			return Exhausted
		}
	}
	f, node := s.flow, s.nodeOf[s.slots[at].want]
	f.need[node]--
	outcome := Exhausted
	first := s.firstCell(at)
	last := s.lastCell(at, first)
	for c := first; c <= last && outcome == Exhausted && !s.dead; c++ {
		cell := &s.board.cells[c]
		if cell.share == nil && cell.used == len(cell.devices) || !s.suits(at, c) {
			continue
		}
		if !s.budget.Step() {
			outcome = OutOfBudget
			break
		}
		s.picks[at] = pick{cell: c, device: cell.next()}
		s.take(at, c, 1)
		if s.bounded() {
			outcome = s.place(at + 1)
		}
		s.take(at, c, -1)
	}
	f.need[node]++
	if outcome == Exhausted && s.any {
		s.dead = s.dead || s.heads[at]
		if situation != "" {
			if s.vain == nil {
				s.vain = map[string]bool{}
			}
			s.vain[situation] = true
		}
	}
	return outcome
}

// take has the slot use a device of the cell, or give it back.
func (s *search) take(at, c, by int) {
	cell := &s.board.cells[c]
	cell.used += by
	if len(cell.need.amounts) > 0 && cell.pays(by) {
		cell.need.take(s.board.counted[cell.view].left, int64(by))
	}
	if cell.share != nil && cell.claim < 0 {
		cell.share.take(cell.share.takes[s.board.problem.roles[s.slots[at].role].selection], by)
	}
	s.flow.room[c] -= by
	role := &s.board.problem.roles[s.slots[at].role]
	for i, r := range role.rules {
		if !s.board.problem.rules[r].distinct {
			continue
		}
		for _, value := range cell.values[role.attributes[i]] {
			s.used[r][value] = by > 0
		}
	}
}

// next is the device that the cell gives.
func (c *cell) next() int {
	if c.share != nil {
		return c.devices[0]
	}
	return c.devices[c.used]
}

// pays says whether counters change as a device is taken or given back: of a shared one, only with the first part.
func (c *cell) pays(by int) bool {
	return c.share == nil || by > 0 && c.used == 1 || by < 0 && c.used == 0
}

// suits says whether the slot can have a device of the cell, beside those that are picked.
func (s *search) suits(at, c int) bool {
	p := s.board.problem
	cell := &s.board.cells[c]
	role := &p.roles[s.slots[at].role]
	if !s.admits(role, cell) {
		return false
	}
	if pays := cell.share == nil || cell.used == 0; pays && len(cell.need.amounts) > 0 && cell.need.lacks(s.board.counted[cell.view].left) >= 0 {
		return false
	}
	if pays := cell.share == nil || cell.used == 0; pays && !s.compatible(at, cell) {
		return false
	}
	if cell.share != nil && (!cell.share.fits(cell.share.takes[role.selection]) || s.hasPart(at, c)) {
		return false
	}
	for i, r := range role.rules {
		if p.rules[r].distinct && slices.ContainsFunc(cell.values[role.attributes[i]], func(value string) bool { return s.used[r][value] }) {
			return false
		}
	}
	return role.claim < 0 || !s.has(at, role.claim, cell)
}

// hasPart says whether the same request has a part of the device already: it wants as many devices.
func (s *search) hasPart(at, c int) bool {
	for before := at - 1; before >= 0 && s.slots[before].want == s.slots[at].want; before-- {
		if s.picks[before].cell == c {
			return true
		}
	}
	return false
}

// has says whether the claim has the cell's next device already, with or without admin access, and must not have it again.
func (s *search) has(at, claim int, c *cell) bool {
	if c.share != nil {
		return false
	}
	device := c.next()
	for before := range at {
		other := &s.board.cells[s.picks[before].cell]
		if s.board.problem.wants[s.slots[before].want].claim == claim && other.view == c.view && s.picks[before].device == device {
			return true
		}
	}
	return false
}

// bounded says whether what is still to be placed can be, as far as counts tell. With one selection there is nothing
// to find out: the first solution on the Board holds whichever of its cells are taken.
func (s *search) bounded() bool {
	if s.board.problem.plain() && len(s.board.problem.selections) == 1 && s.board.counted == nil && !s.board.shares {
		return true
	}
	s.charge()
	fits, _ := s.flow.solve()
	return fits && s.differ() && s.affordable()
}

// firstCell keeps the cells of slots that can be swapped in rising order.
func (s *search) firstCell(at int) int {
	p := s.board.problem
	mine := s.slots[at]
	for before := at - 1; before >= 0; before-- {
		other := s.slots[before]
		if s.board.shares && other.want != mine.want {
			return 0 // of parts, a request cannot have two of one device: then not all orders are alike
		}
		if other.role == mine.role && (s.any || p.swappable || p.wants[other.want].claim == p.wants[mine.want].claim) {
			return s.picks[before].cell
		}
	}
	return 0
}

// lastCell is the last cell that leaves enough for the slots of the same want behind this one: they take cells in rising
// order. It is less than first if there is none.
func (s *search) lastCell(at, first int) int {
	needed := 1
	for next := at + 1; next < len(s.slots) && s.slots[next].want == s.slots[at].want; next++ {
		needed++
	}
	role := &s.board.problem.roles[s.slots[at].role]
	last := len(s.board.cells) - 1
	for ; last >= first; last-- {
		cell := &s.board.cells[last]
		if !s.admits(role, cell) {
			continue
		}
		switch {
		case cell.share == nil:
			needed -= len(cell.devices) - cell.used
		case cell.share.fits(cell.share.takes[role.selection]):
			needed-- // one part for a want
		}
		if needed <= 0 {
			break
		}
	}
	return last
}

// isRepeat says whether the same devices were offered before: with lists, they can have more than one value in common.
func (s *search) isRepeat() bool {
	for r, chosen := range s.value {
		if chosen == "" {
			continue
		}
		for _, earlier := range s.tried[r] {
			if earlier == chosen {
				break
			}
			if s.agree(r, earlier) {
				return true
			}
		}
	}
	return false
}

// agree says whether all devices that the rule covers have the value.
func (s *search) agree(r int, value string) bool {
	p := s.board.problem
	for at := range s.slots {
		attribute := p.roles[s.slots[at].role].attribute(r)
		if attribute >= 0 && !s.board.cells[s.picks[at].cell].has(attribute, value) {
			return false
		}
	}
	return true
}
