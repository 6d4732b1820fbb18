package alloc

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/allot-dev/allot/internal/model"
)

// counters are the shared counters of a pool, and what its devices take from them.
type counters struct {
	names []string // SET/COUNTER
	total []int64
	most  []resource.Quantity // the same, exactly; by counter
	needs []need              // by device
	units []model.AmountUnit  // by counter
}

// text returns so much of a counter as people write it.
func (c *counters) text(counter int, value int64) string {
	quantity := c.units[counter].Quantity(value)
	return quantity.String()
}

// need is what a device takes. Devices with the same id take the same.
type need struct {
	id      int // 0: nothing
	amounts []amount
	groups  []groupNeed // nil where they do not matter
	weight  int         // for ordering: the share of counters that it takes, in thousandths, summed up
}

// maxWeight is the share of a device that takes a thousand times what there is.
const maxWeight = 1_000_000

type amount struct {
	counter int
	value   int64
}

// countersOf reads a pool's counters; nil if no device takes from any.
func countersOf(pool *model.Pool) *counters {
	if !pool.Any(func(u *model.Usage) bool { return len(u.ConsumesCounters) > 0 }) {
		return nil
	}
	c := &counters{needs: make([]need, len(pool.Devices))}
	index := map[string]int{}
	quantities := map[string][]resource.Quantity{}
	for i := range pool.Counters {
		set := &pool.Counters[i]
		for name, counter := range set.Counters {
			id := set.Name + "/" + name
			quantities[id] = append(quantities[id], counter.Value)
		}
	}
	for i := range pool.Devices {
		for _, consumed := range pool.Devices[i].ConsumesCounters {
			for name, counter := range consumed.Counters {
				id := consumed.CounterSet + "/" + name
				if quantities[id] == nil {
					quantities[id] = []resource.Quantity{{}} // the pool has none of it
				}
				quantities[id] = append(quantities[id], counter.Value)
			}
		}
	}
	c.names = slices.Sorted(maps.Keys(quantities))
	for i, name := range c.names {
		index[name] = i
		unit := model.AmountUnitOf(quantities[name])
		c.units = append(c.units, unit)
		c.most = append(c.most, model.Bounded(quantities[name][0]))
		c.total = append(c.total, min(unit.Count(quantities[name][0]), model.MaxSupply))
	}
	known := map[string]int{"": 0}
	grouped := hasGroups(pool)
	for i := range pool.Devices {
		c.needs[i] = c.needOf(&pool.Devices[i], index)
		if grouped {
			c.needs[i].groups = groupNeeds(&pool.Devices[i])
		}
		c.needs[i].number(known)
	}
	return c
}

// needOf adds up what one device takes.
func (c *counters) needOf(device *model.Device, index map[string]int) need {
	sum := map[int]int64{}
	for _, consumed := range device.ConsumesCounters {
		for name, counter := range consumed.Counters {
			at := index[consumed.CounterSet+"/"+name]
			sum[at] = model.AddAmounts(sum[at], c.count(at, counter.Value))
		}
	}
	var n need
	for _, at := range slices.Sorted(maps.Keys(sum)) {
		if sum[at] <= 0 {
			continue
		}
		n.amounts = append(n.amounts, amount{at, sum[at]})
		n.weight += int(min(maxWeight, 1000*float64(sum[at])/float64(max(1, c.total[at]))))
	}
	return n
}

// count returns how much a device takes of a counter, in its units. What is beyond them is all of the counter, if that is enough,
// so that the device can be had alone.
func (c *counters) count(counter int, q resource.Quantity) int64 {
	n := c.units[counter].Count(q)
	if bounded := model.Bounded(q); n > model.MaxSupply && bounded.Cmp(c.most[counter]) <= 0 {
		return c.total[counter]
	}
	return n
}

// number gives equal needs equal ids.
func (n *need) number(known map[string]int) {
	key := ""
	if len(n.amounts)+len(n.groups) > 0 {
		key = fmt.Sprint(n.amounts, n.groups)
	}
	id, ok := known[key]
	if !ok {
		id = len(known)
		known[key] = id
	}
	n.id = id
}

// left is what the devices that are taken leave.
func (c *counters) left(taken model.Bits) []int64 {
	left := slices.Clone(c.total)
	taken.Each(func(device int) bool {
		for _, a := range c.needs[device].amounts {
			left[a.counter] = model.SubAmounts(left[a.counter], a.value)
		}
		return true
	})
	return left
}

// take has devices take from what is left, which is enough, or gives it back.
func (n *need) take(left []int64, times int64) {
	for _, a := range n.amounts {
		left[a.counter] -= a.value * times
	}
}

// lacks is the first counter that has too little left; -1 if none has.
func (n *need) lacks(left []int64) int {
	for _, a := range n.amounts {
		if left[a.counter] < a.value {
			return a.counter
		}
	}
	return -1
}

// set is the counter set that a counter is in.
func (c *counters) set(counter int) string {
	set, _, _ := strings.Cut(c.names[counter], "/")
	return set
}

// counted is what a view's counters have left in the search. Devices that a claim holds and that nobody publishes any
// longer take an unknown share: then nothing that takes from counters is given away.
type counted struct {
	*counters
	left  []int64
	lost  string // such a device
	inUse common // compatibility groups
}

// seen is what the devices that are in use leave of the counters.
func (c *counters) seen(view *model.PoolView) *counted {
	v := &counted{counters: c, left: c.left(view.Taken()), inUse: common{}}
	view.Taken().Each(func(device int) bool {
		v.inUse.add(c.needs[device].groups)
		return true
	})
	v.lost, _ = view.Unpublished()
	return v
}

// admits says whether a device that needs this can be had beside those that are in use.
func (v *counted) admits(n *need) bool {
	return len(n.amounts)+len(n.groups) == 0 || v.lost == "" && n.lacks(v.left) < 0 && v.inUse.admits(n.groups)
}

// bars says why a device cannot be had, "" if it can.
func (v *counted) bars(device int) string {
	n := &v.needs[device]
	if v.admits(n) {
		return ""
	}
	if v.lost != "" {
		return fmt.Sprintf("shares counters with %s, which is in use but no longer published", v.lost)
	}
	if at := n.lacks(v.left); at >= 0 {
		return fmt.Sprintf("needs %s of counter %s, %s left", v.text(at, n.of(at)), v.names[at], v.text(at, max(0, v.left[at])))
	}
	return "has no compatibility group in common with what is in use"
}

// hub is a counter set of a view, and the cells whose devices take from it.
type hub struct {
	view     int
	counters []int
	cells    []int
	takes    [][]taking // by the index of the counter: what devices of the cells take, the least first
}

// taking is what a device of a cell takes from a counter.
type taking struct {
	cell  int
	value int64
}

// counts says whether each device that is had of the cell takes from counters; of a shared one, only the first part does.
func (c *cell) counts() bool { return len(c.need.amounts) > 0 && c.share == nil }

// hubs gathers cells by the first counter set that they take from.
func (b *Board) hubs() []hub {
	var list []hub
	index := map[string]int{}
	for c := range b.cells {
		cell := &b.cells[c]
		if !cell.counts() {
			continue
		}
		table := b.counted[cell.view]
		set := table.set(cell.need.amounts[0].counter)
		id := fmt.Sprint(cell.view, " ", set)
		at, ok := index[id]
		if !ok {
			at = len(list)
			index[id] = at
			h := hub{view: cell.view}
			for i := range table.names {
				if table.set(i) == set {
					h.counters = append(h.counters, i)
				}
			}
			list = append(list, h)
		}
		list[at].cells = append(list[at].cells, c)
	}
	for i := range list {
		list[i].sort(b)
	}
	return list
}

// sort works out what the cells take from each counter.
func (h *hub) sort(b *Board) {
	h.takes = make([][]taking, len(h.counters))
	for i, counter := range h.counters {
		for _, c := range h.cells {
			h.takes[i] = append(h.takes[i], taking{c, b.cells[c].need.of(counter)})
		}
		slices.SortStableFunc(h.takes[i], func(x, y taking) int { return cmp.Compare(x.value, y.value) })
	}
}

// most bounds how many devices of the cells, of those that are mine, can be had beside each other: for each counter, as
// many of the smallest as there is room for.
func (h *hub) most(b *Board, room []int, mine []bool) int {
	most := 0
	for _, c := range h.cells {
		if mine[c] {
			most += room[c]
		}
	}
	for i := range h.counters {
		if most > 0 {
			most = min(most, h.mostBy(b, room, mine, i))
		}
	}
	return most
}

// mostBy is most for one counter, by its index.
func (h *hub) mostBy(b *Board, room []int, mine []bool, i int) int {
	count, left := 0, b.counted[h.view].left[h.counters[i]]
	for _, take := range h.takes[i] {
		switch {
		case !mine[take.cell]:
			continue
		case take.value == 0:
			count += room[take.cell]
			continue
		}
		fits := int(min(int64(room[take.cell]), max(0, left)/take.value))
		count += fits
		if left -= int64(fits) * take.value; fits < room[take.cell] {
			break
		}
	}
	return count
}

func (n *need) of(counter int) int64 {
	for _, a := range n.amounts {
		if a.counter == counter {
			return a.value
		}
	}
	return 0
}

// affordable says whether counters can bear the devices that are still needed: of all requests together, of each by
// itself, and of those together that depend on one counter set.
func (s *search) affordable() bool {
	b := s.board
	if b.counted == nil {
		return true
	}
	if s.hubs == nil {
		s.hubs = b.hubs()
		s.weighings = b.weighings(s.hubs)
		s.hubOf = make([]int, len(b.cells))
		for c := range s.hubOf {
			s.hubOf[c] = -1
		}
		for i := range s.hubs {
			for _, c := range s.hubs[i].cells {
				s.hubOf[c] = i
			}
		}
	}
	total, all := 0, make([]bool, len(b.cells))
	bound, tied := make([]int, len(s.hubs)), make([]bool, len(b.cells))
	for n, need := range s.flow.need {
		if total += need; need == 0 {
			continue
		}
		mine := make([]bool, len(b.cells))
		for _, c := range s.flow.edges[n] {
			mine[c], all[c] = true, true
		}
		if s.supplyOf(mine) < need {
			return false
		}
		if h := s.onlyHub(n); h >= 0 {
			bound[h] += need
			for _, c := range s.flow.edges[n] {
				tied[c] = true
			}
		}
	}
	for h, need := range bound {
		if need > 0 && s.hubs[h].most(b, s.flow.room, tied) < need {
			return false
		}
	}
	return s.supplyOf(all) >= total
}

// onlyHub returns the one hub that all devices for a node of the flow come from, -1 if there is none.
func (s *search) onlyHub(node int) int {
	hub := -1
	for _, c := range s.flow.edges[node] {
		if s.flow.room[c] == 0 {
			continue
		}
		if s.hubOf[c] < 0 || hub >= 0 && s.hubOf[c] != hub {
			return -1
		}
		hub = s.hubOf[c]
	}
	return hub
}

// supplyOf bounds how many devices the cells can give.
func (s *search) supplyOf(cells []bool) int {
	b := s.board
	supply := 0
	for c := range b.cells {
		if cells[c] && !b.cells[c].counts() {
			supply += s.flow.room[c]
		}
	}
	for i := range s.hubs {
		supply += s.hubs[i].most(b, s.flow.room, cells)
	}
	return supply
}

// scarce names a counter that by itself has too little left for as many devices as are wanted, "" if none has.
func (s *search) scarce(wants []int, wanted int) string {
	b := s.board
	room, all, total := make([]int, len(b.cells)), make([]bool, len(b.cells)), 0
	for c := range b.cells {
		if all[c] = true; s.serves(wants, &b.cells[c]) {
			room[c] = b.cells[c].room()
			total += room[c]
		}
	}
	for _, h := range b.hubs() {
		others := total
		for _, c := range h.cells {
			others -= room[c]
		}
		for i, counter := range h.counters {
			if most := h.mostBy(b, room, all, i); others+most < wanted {
				v := b.counted[h.view]
				return fmt.Sprintf("counter %s has %s left, enough for %d", v.names[counter], v.text(counter, max(0, v.left[counter])), most)
			}
		}
	}
	return ""
}

// serves says whether some of the wants can still have devices of the cell.
func (s *search) serves(wants []int, c *cell) bool {
	return slices.ContainsFunc(wants, func(w int) bool {
		roles, _ := s.open(w)
		return slices.ContainsFunc(roles, func(r int) bool { return s.admits(&s.board.problem.roles[r], c) })
	})
}
