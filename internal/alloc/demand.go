package alloc

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// Counting how many of the smallest devices fit says little where requests need devices of different sizes. A weighing
// does: whatever the requests get takes at least what the lightest devices that could serve them take.

// weighing adds up some counters of a board: one of a set; or those of a set with equal totals, as the slices of a memory
// are; or those that have one name in all sets.
type weighing struct {
	counters []viewCounter
	of       []int64 // by cell: what a device of it takes
}

// viewCounter is a counter of a view.
type viewCounter struct{ view, counter int }

// weighings returns all weighings by which a board is worth checking.
func (b *Board) weighings(hubs []hub) []weighing {
	var list []weighing
	byName := map[string][]viewCounter{}
	var names []string
	for _, h := range hubs {
		table := b.counted[h.view]
		byTotal := map[int64][]viewCounter{}
		var totals []int64
		for _, counter := range h.counters {
			at := viewCounter{h.view, counter}
			list = b.addWeighing(list, h.cells, at)
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
				list = b.addWeighing(list, h.cells, byTotal[total]...)
			}
		}
	}
	if len(hubs) > 1 {
		all := make([]int, len(b.cells))
		for c := range all {
			all[c] = c
		}
		for _, name := range names {
			list = b.addWeighing(list, all, byName[name]...)
		}
	}
	return list
}

// addWeighing adds a weighing by some counters, unless no device takes from them.
func (b *Board) addWeighing(list []weighing, cells []int, counters ...viewCounter) []weighing {
	w, some := weighing{counters: counters, of: make([]int64, len(b.cells))}, false
	for _, c := range cells {
		if cell := &b.cells[c]; cell.counts() {
			for _, at := range counters {
				if at.view == cell.view {
					w.of[c] = model.AddAmounts(w.of[c], cell.need.of(at.counter))
				}
			}
			some = some || w.of[c] > 0
		}
	}
	if !some {
		return list
	}
	return append(list, w)
}

// left returns what the counters have left.
func (w *weighing) left(b *Board) int64 {
	sum := int64(0)
	for _, at := range w.counters {
		sum = model.AddAmounts(sum, max(0, b.counted[at.view].left[at.counter]))
	}
	return sum
}

// lightest returns the least that a device of some cells takes, as long as they have any.
func (w *weighing) lightest(cells, room []int) int64 {
	least := int64(math.MaxInt64)
	for _, c := range cells {
		if room[c] == 0 {
			continue
		}
		if least = min(least, w.of[c]); least == 0 {
			return 0
		}
	}
	return least
}

// added and times stop at the largest number.
func times(a int64, n int) int64 {
	if n > 0 && a > math.MaxInt64/int64(n) {
		return math.MaxInt64
	}
	return a * int64(n)
}

// bearable reports whether counters have enough left for the lightest devices that could serve what is still needed.
func (s *search) bearable() bool {
	overdrawn, _ := s.overdrawn()
	return overdrawn == nil
}

// overdrawn returns a weighing of counters that have too little left, and how much is needed; nil if there is none.
func (s *search) overdrawn() (*weighing, int64) {
	for i := range s.weighings {
		w := &s.weighings[i]
		demand := int64(0)
		for n, need := range s.flow.need {
			if need > 0 {
				demand = model.AddAmounts(demand, times(w.lightest(s.flow.edges[n], s.flow.room), need))
			}
		}
		if demand > w.left(s.board) {
			return w, demand
		}
	}
	return nil, 0
}

// text says how much of the counters is needed and left.
func (w *weighing) text(b *Board, needed int64) string {
	table, first := b.counted[w.counters[0].view], w.counters[0].counter
	name := "counter " + table.names[first]
	if more := len(w.counters) - 1; more > 0 {
		name += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s needed of %s, %s left", table.text(first, needed), name, table.text(first, w.left(b)))
}

// placeable reports whether claims that ask for the same under a matchAttribute find enough values: each value bears only
// so many of them.
func (s *search) placeable() bool {
	p := s.board.problem
	for c := 0; c < len(p.claims); {
		end := c + 1
		for end < len(p.claims) && p.alike(end) {
			end++
		}
		if !s.valuesBear(c, end) {
			return false
		}
		c = end
	}
	return true
}

// valuesBear reports whether the values that the first matchAttribute of some claims, which are alike, could settle on bear
// those claims that have not settled on one.
func (s *search) valuesBear(from, to int) bool {
	p := s.board.problem
	open := make([]bool, len(p.wants)) // wants of claims that have not settled
	first, claims := -1, 0
	for c := from; c < to; c++ {
		r := s.firstRule(c)
		if r < 0 {
			return true
		}
		if s.value[r] != "" {
			continue
		}
		if claims++; first < 0 {
			first = r
		} else if !s.sameOptions(p.rules[first].claim, c) {
			return true
		}
		for _, w := range s.wantsOf(c) {
			open[w] = true
		}
	}
	if claims == 0 || slices.ContainsFunc(s.wantsOf(p.rules[first].claim), func(w int) bool { return s.chosen[w] < 0 }) {
		return true
	}
	others := s.demandBut(open)
	bears := 0
	for value, cells := range s.cellsByValue(first) {
		if bears += s.bears(first, value, cells, others, claims-bears); bears >= claims {
			return true
		}
	}
	return false
}

// firstRule returns the first matchAttribute of a claim that covers devices, -1 if it has none.
func (s *search) firstRule(claim int) int {
	from, to := s.board.problem.part(claim)
	for r := from.rules; r < to.rules; r++ {
		if !s.board.problem.rules[r].distinct && s.covered(r) > 0 {
			return r
		}
	}
	return -1
}

func (s *search) wantsOf(claim int) []int {
	from, to := s.board.problem.part(claim)
	list := make([]int, 0, to.wants-from.wants)
	for w := from.wants; w < to.wants; w++ {
		list = append(list, w)
	}
	return list
}

// demandBut returns for each weighing what the lightest devices for all but some of the wants take.
func (s *search) demandBut(open []bool) []int64 {
	demand := make([]int64, len(s.weighings))
	for i := range s.weighings {
		w := &s.weighings[i]
		for want, n := range s.nodeOf {
			if _, least := s.open(want); !open[want] && least > 0 {
				demand[i] = model.AddAmounts(demand[i], times(w.lightest(s.flow.edges[n], s.flow.room), least))
			}
		}
	}
	return demand
}

// cellsByValue sorts the cells that have a value under the rule by their values.
func (s *search) cellsByValue(r int) map[string][]int {
	values := map[string][]int{}
	for c := range s.board.cells {
		for _, value := range s.offered(r, &s.board.cells[c]) {
			values[value] = append(values[value], c)
		}
	}
	return values
}

// bears bounds how many claims like that of the rule a value bears, at most so many.
func (s *search) bears(r int, value string, cells []int, others []int64, most int) int {
	p := s.board.problem
	type part struct {
		count int
		cells []int
	}
	var parts []part
	for _, w := range s.wantsOf(p.rules[r].claim) {
		role := &p.roles[p.wants[w].options[s.chosen[w]].role]
		attribute := role.attribute(r)
		if attribute < 0 {
			continue
		}
		of, room := part{count: s.board.counts[w][s.chosen[w]]}, 0
		for _, c := range cells {
			if cell := &s.board.cells[c]; s.admits(role, cell) && cell.has(attribute, value) {
				of.cells = append(of.cells, c)
				room += s.flow.room[c]
			}
		}
		if of.count > 0 {
			most = min(most, room/of.count)
			parts = append(parts, of)
		}
	}
	for i := range s.weighings {
		w, each := &s.weighings[i], int64(0)
		for _, of := range parts {
			each = model.AddAmounts(each, times(w.lightest(of.cells, s.flow.room), of.count))
		}
		if each > 0 {
			most = min(most, int(max(0, w.left(s.board)-others[i])/each))
		}
	}
	return most
}
