package alloc

import (
	"cmp"
	"slices"
)

// supply holds what wants need against what cells have, as far as the search has decided. What it refutes cannot be
// done; what it does not refute may be impossible all the same.
type supply struct {
	nodeOf []int   // by want: its node in the flow
	nodes  [][]int // by node: the roles that its devices can have
	flow   *flow
	hubs   []hub
	hubOf  []int // by cell; -1 for none
	// weighings are those of the counters; see weighing.
	weighings []weighing
	ruled     bool // counts refute what constraints ask for, not the number of devices
}

// connect lays the flow out anew. Wants that have the same role share a node; what an undecided want gets is at least
// the least of its options, from the devices of any.
func (s *search) connect() {
	p := s.board.problem
	s.nodeOf, s.nodes = make([]int, len(p.wants)), nil
	var need []int
	byRole := map[int]int{}
	for w := range p.wants {
		roles, least := s.open(w)
		at, known := byRole[roles[0]]
		if len(roles) > 1 || !known {
			at = len(s.nodes)
			s.nodes, need = append(s.nodes, roles), append(need, 0)
			if len(roles) == 1 {
				byRole[roles[0]] = at
			}
		}
		s.nodeOf[w] = at
		need[at] += least
	}
	edges := make([][]int, len(s.nodes))
	for n, roles := range s.nodes {
		for c := range s.board.cells {
			if slices.ContainsFunc(roles, func(r int) bool { return s.admits(&p.roles[r], &s.board.cells[c]) }) {
				edges[n] = append(edges[n], c)
			}
		}
	}
	s.flow = newFlow(edges, need, len(s.board.cells))
	for c := range s.board.cells {
		s.flow.room[c] = s.board.cells[c].room()
	}
}

// open are the roles that the want's devices can still have, and the fewest devices.
func (s *search) open(w int) ([]int, int) {
	p := s.board.problem
	options, counts := p.wants[w].options, s.board.counts[w]
	if o := s.chosen[w]; o >= 0 {
		return []int{options[o].role}, max(0, counts[o])
	}
	var roles []int
	least := maxDevices
	for o := range options {
		if counts[o] < 0 {
			continue
		}
		roles, least = append(roles, options[o].role), min(least, counts[o])
	}
	if len(roles) == 0 {
		return []int{options[0].role}, 0
	}
	return roles, least
}

// admits says whether devices of the cell can be had in the role, given the values that were settled on.
func (s *search) admits(r *role, c *cell) bool {
	if !c.allows(r) {
		return false
	}
	for at, i := range r.rules {
		if len(c.values[r.attributes[at]]) == 0 || s.value[i] != "" && !c.has(r.attributes[at], s.value[i]) {
			return false
		}
	}
	return true
}

// possible says whether counts allow what the search has decided.
func (s *search) possible() bool {
	if s.over() >= 0 || s.narrow() >= 0 {
		return false
	}
	s.connect()
	s.charge()
	fits, _ := s.flow.solve()
	return fits && s.differ() && s.affordable() && s.bearable() && s.placeable()
}

// chargeShare is how much of a flow, in requests times cells, is worked out in the time of a step.
const chargeShare = 256

// charge spends steps for a flow that is large.
func (s *search) charge() {
	if s.budget != nil {
		s.budget.Spent += len(s.nodes) * len(s.board.cells) / chargeShare
	}
}

// over finds a claim that gets more devices than one can have; -1 if there is none.
func (s *search) over() int {
	p := s.board.problem
	total := 0
	for w := range p.wants {
		if w > 0 && p.wants[w].claim != p.wants[w-1].claim {
			total = 0
		}
		_, least := s.open(w)
		if total += least; total > maxDevices {
			return p.wants[w].claim
		}
	}
	return -1
}

// narrow finds a want that needs more devices than there are, where that differs from the parts that can be had: it gets
// one part of a device at most. It answers -1 if there is none.
func (s *search) narrow() int {
	p := s.board.problem
	if !s.board.shares {
		return -1
	}
	for w := range p.wants {
		roles, least := s.open(w)
		devices := 0
		for c := range s.board.cells {
			cell := &s.board.cells[c]
			if slices.ContainsFunc(roles, func(r int) bool { return s.admits(&p.roles[r], cell) }) {
				devices += len(cell.devices)
			}
		}
		if devices < least {
			return w
		}
	}
	return -1
}

// refute says what counts alone find impossible, before anything is decided.
func (s *search) refute() *Reason {
	wants := s.refuted()
	if wants == nil {
		return nil
	}
	if s.ruled || s.strict(wants) {
		return s.board.conflict()
	}
	return s.shortage(wants)
}

// refuted are wants that cannot all be served, as far as counts tell; nil if there are none.
func (s *search) refuted() []int {
	p := s.board.problem
	for w := range p.wants {
		if !s.can(w) {
			return []int{w}
		}
	}
	var wants []int
	if claim := s.over(); claim >= 0 {
		for w := range p.wants {
			if p.wants[w].claim == claim {
				wants = append(wants, w)
			}
		}
		return wants
	}
	if w := s.narrow(); w >= 0 {
		return []int{w}
	}
	s.connect()
	if fits, short := s.flow.solve(); !fits {
		for w := range p.wants {
			if short.Has(s.nodeOf[w]) {
				wants = append(wants, w)
			}
		}
	} else if s.ruled = s.affordable() && s.bearable() && !s.placeable(); s.ruled || !s.affordable() || !s.bearable() {
		for w := range p.wants {
			wants = append(wants, w)
		}
	}
	return wants
}

// can says whether some option of the want, or the one that was chosen, can be had on the node.
func (s *search) can(w int) bool {
	if o := s.chosen[w]; o >= 0 {
		return s.board.counts[w][o] >= 0
	}
	return slices.ContainsFunc(s.board.counts[w], func(count int) bool { return count >= 0 })
}

// strict says whether some of the wants could have more devices if it were not for constraints.
func (s *search) strict(wants []int) bool {
	p := s.board.problem
	for _, w := range wants {
		for o := range p.wants[w].options {
			role := &p.roles[p.wants[w].options[o].role]
			for c := range s.board.cells {
				if cell := &s.board.cells[c]; cell.allows(role) && !s.admits(role, cell) {
					return true
				}
			}
		}
	}
	return false
}

// covered is how many devices the rule is about, by what the search has decided.
func (s *search) covered(r int) int {
	p := s.board.problem
	n := 0
	from, to := p.part(p.rules[r].claim)
	for w := from.wants; w < to.wants; w++ {
		if o := s.chosen[w]; o >= 0 && slices.Contains(p.roles[p.wants[w].options[o].role].rules, r) {
			n += s.board.counts[w][o]
		}
	}
	return n
}

// values are those that a matchAttribute could settle on: the devices with a value suffice for all that the rule
// covers. A group that need not be waited for comes first, and one that is used up or nearly so before one that would be
// broken up.
func (s *search) values(r int) []string {
	room, ready := map[string]int{}, map[string]int{}
	local := map[string]bool{}
	var list []string
	for c := range s.board.cells {
		cell := &s.board.cells[c]
		for _, value := range s.offered(r, cell) {
			if room[value] == 0 {
				list = append(list, value)
				local[value] = s.board.isLocal(cell)
			}
			room[value] += cell.room()
			if !cell.waits {
				ready[value] += cell.room()
			}
		}
	}
	needed := s.covered(r)
	list = slices.DeleteFunc(list, func(value string) bool { return room[value] < needed })
	slices.SortStableFunc(list, func(x, y string) int {
		return cmp.Or(
			cmp.Compare(rankOf(ready[x] < needed), rankOf(ready[y] < needed)),
			cmp.Compare(rankOf(!local[x]), rankOf(!local[y])),
			cmp.Compare(room[x], room[y]),
		)
	})
	return list
}

// offered are the values under the rule that a want which it covers could have with a device of the cell.
func (s *search) offered(r int, c *cell) []string {
	p := s.board.problem
	var list []string
	asked := map[int]bool{}
	for w := range p.wants {
		o := s.chosen[w]
		if o < 0 {
			continue
		}
		role := &p.roles[p.wants[w].options[o].role]
		attribute := role.attribute(r)
		if attribute < 0 || asked[attribute] || !s.admits(role, c) {
			continue
		}
		asked[attribute] = true
		list = addNew(list, c.values[attribute])
	}
	return list
}

func addNew(list, more []string) []string {
	for _, value := range more {
		if !slices.Contains(list, value) {
			list = append(list, value)
		}
	}
	return list
}

// differ says whether each distinctAttribute can find enough values: each device that is still to be placed needs one
// of its own.
func (s *search) differ() bool {
	for r := range s.board.problem.rules {
		if s.board.problem.rules[r].distinct && !s.differBy(r) {
			return false
		}
	}
	return true
}

func (s *search) differBy(r int) bool {
	p := s.board.problem
	index := map[string]int{}
	edges := make([][]int, len(s.nodes))
	need := make([]int, len(s.nodes))
	for n, roles := range s.nodes {
		if slices.ContainsFunc(roles, func(role int) bool { return p.roles[role].attribute(r) < 0 }) {
			continue
		}
		need[n] = s.flow.need[n]
		for _, c := range s.flow.edges[n] {
			if s.flow.room[c] == 0 {
				continue
			}
			for _, value := range s.unused(r, roles, &s.board.cells[c]) {
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
	for i := range f.room {
		f.room[i] = 1
	}
	fits, _ := f.solve()
	return fits
}

// unused are the values under the rule that a device of the cell could still bring in one of the roles.
func (s *search) unused(r int, roles []int, c *cell) []string {
	var list []string
	for _, role := range roles {
		values := c.values[s.board.problem.roles[role].attribute(r)]
		if !slices.ContainsFunc(values, func(value string) bool { return s.used[r][value] }) {
			list = addNew(list, values)
		}
	}
	return list
}
