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

// counters holds the shared counters of a pool and the usage of each device.
type counters struct {
	names      []string // SET/COUNTER
	total      []int64
	exactTotal []resource.Quantity // exact total, by counter
	usages     []counterUsage      // by device
	units      []model.AmountUnit  // by counter
}

// format returns an amount of a counter as a quantity.
func (c *counters) format(counter int, value int64) string {
	quantity := c.units[counter].Quantity(value)
	return quantity.String()
}

// counterUsage is the amounts that one device takes from counters. Devices with the same id take
// the same.
type counterUsage struct {
	id      int // 0 if the device takes nothing
	amounts []amount
	groups  []groupUsage // nil if no device of the pool has compatibility groups
	weight  int          // sum of the shares of all counters, in thousandths; used for ordering
}

// maxWeight limits the weight that one counter contributes.
const maxWeight = 1_000_000

type amount struct {
	counter int
	value   int64
}

// countersOf returns the counters of a pool, or nil if no device takes from any.
func countersOf(pool *model.Pool) *counters {
	if !pool.Any(func(u *model.Usage) bool { return len(u.ConsumesCounters) > 0 }) {
		return nil
	}
	c := &counters{usages: make([]counterUsage, len(pool.Devices))}
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
					// the pool does not publish this counter
					quantities[id] = []resource.Quantity{{}}
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
		c.exactTotal = append(c.exactTotal, model.Bounded(quantities[name][0]))
		c.total = append(c.total, min(unit.Count(quantities[name][0]), model.MaxSupply))
	}
	known := map[string]int{"": 0}
	grouped := hasGroups(pool)
	for i := range pool.Devices {
		c.usages[i] = c.usageOf(&pool.Devices[i], index)
		if grouped {
			c.usages[i].groups = groupUsagesOf(&pool.Devices[i])
		}
		c.usages[i].assignID(known)
	}
	return c
}

// usageOf returns the sum of what a device takes from each counter.
func (c *counters) usageOf(device *model.Device, index map[string]int) counterUsage {
	sum := map[int]int64{}
	for _, consumed := range device.ConsumesCounters {
		for name, counter := range consumed.Counters {
			at := index[consumed.CounterSet+"/"+name]
			sum[at] = model.AddAmounts(sum[at], c.count(at, counter.Value))
		}
	}
	var n counterUsage
	for _, at := range slices.Sorted(maps.Keys(sum)) {
		if sum[at] <= 0 {
			continue
		}
		n.amounts = append(n.amounts, amount{at, sum[at]})
		n.weight += int(min(maxWeight, 1000*float64(sum[at])/float64(max(1, c.total[at]))))
	}
	return n
}

// count converts a quantity into units of the counter. An amount that units cannot represent counts
// as the whole counter if it does not exceed the total, so that the device can be allocated alone.
func (c *counters) count(counter int, q resource.Quantity) int64 {
	n := c.units[counter].Count(q)
	if bounded := model.Bounded(q); n > model.MaxSupply && bounded.Cmp(c.exactTotal[counter]) <= 0 {
		return c.total[counter]
	}
	return n
}

// assignID sets the id, which is the same for equal usages.
func (u *counterUsage) assignID(known map[string]int) {
	key := ""
	if len(u.amounts)+len(u.groups) > 0 {
		key = fmt.Sprint(u.amounts, u.groups)
	}
	id, ok := known[key]
	if !ok {
		id = len(known)
		known[key] = id
	}
	u.id = id
}

// remaining returns what each counter has left after the usage of the taken devices.
func (c *counters) remaining(taken model.Bits) []int64 {
	left := slices.Clone(c.total)
	taken.Each(func(device int) bool {
		for _, a := range c.usages[device].amounts {
			left[a.counter] = model.SubAmounts(left[a.counter], a.value)
		}
		return true
	})
	return left
}

// consume subtracts the usage of a number of devices; a negative number gives it back. The counters
// must have enough left.
func (u *counterUsage) consume(left []int64, times int64) {
	for _, a := range u.amounts {
		left[a.counter] -= a.value * times
	}
}

// shortCounter returns the first counter with too little left, or -1.
func (u *counterUsage) shortCounter(left []int64) int {
	for _, a := range u.amounts {
		if left[a.counter] < a.value {
			return a.counter
		}
	}
	return -1
}

// setOf returns the name of the counter set.
func (c *counters) setOf(counter int) string {
	set, _, _ := strings.Cut(c.names[counter], "/")
	return set
}

// viewCounters holds what the counters of one pool have left during a search. A device that is in
// use but no longer published takes an unknown amount; then no device that takes from counters is
// available.
type viewCounters struct {
	*counters
	remaining   []int64
	unpublished string       // a device that is in use but no longer published; "" if there is none
	groupsInUse commonGroups // compatibility groups of the devices in use
}

// forView returns the counters as the devices in use leave them.
func (c *counters) forView(view *model.PoolView) *viewCounters {
	v := &viewCounters{counters: c, remaining: c.remaining(view.InUse()), groupsInUse: commonGroups{}}
	view.InUse().Each(func(device int) bool {
		v.groupsInUse.add(c.usages[device].groups)
		return true
	})
	v.unpublished, _ = view.Unpublished()
	return v
}

// admits reports whether a device with this usage can be allocated in addition to the devices in
// use.
func (v *viewCounters) admits(usage *counterUsage) bool {
	return len(usage.amounts)+len(usage.groups) == 0 ||
		v.unpublished == "" && usage.shortCounter(v.remaining) < 0 && v.groupsInUse.admits(usage.groups)
}

// unavailableReason returns why counters do not admit a device, or "".
func (v *viewCounters) unavailableReason(device int) string {
	usage := &v.usages[device]
	if v.admits(usage) {
		return ""
	}
	if v.unpublished != "" {
		return fmt.Sprintf("shares counters with %s, which is in use but no longer published", v.unpublished)
	}
	if at := usage.shortCounter(v.remaining); at >= 0 {
		return fmt.Sprintf("needs %s of counter %s, %s left", v.format(at, usage.amountOf(at)), v.names[at],
			v.format(at, max(0, v.remaining[at])))
	}
	return "has no compatibility group in common with what is in use"
}

// counterGroup is a counter set of one pool with the cells whose devices take from it.
type counterGroup struct {
	view     int
	counters []int
	cells    []int
	usages   [][]cellUsage // by index in counters: usage of each cell, ascending
}

// cellUsage is the amount that one device of a cell takes from a counter.
type cellUsage struct {
	cell  int
	value int64
}

// usesCounters reports whether each device allocated from the cell takes from counters. A shared
// device takes only with its first share.
func (c *cell) usesCounters() bool { return len(c.usage.amounts) > 0 && c.shared == nil }

// counterGroups groups the cells by the first counter set that they take from.
func (offer *NodeOffer) counterGroups() []counterGroup {
	var list []counterGroup
	index := map[string]int{}
	for c := range offer.cells {
		cell := &offer.cells[c]
		if !cell.usesCounters() {
			continue
		}
		table := offer.counters[cell.view]
		set := table.setOf(cell.usage.amounts[0].counter)
		id := fmt.Sprint(cell.view, " ", set)
		at, ok := index[id]
		if !ok {
			at = len(list)
			index[id] = at
			group := counterGroup{view: cell.view}
			for i := range table.names {
				if table.setOf(i) == set {
					group.counters = append(group.counters, i)
				}
			}
			list = append(list, group)
		}
		list[at].cells = append(list[at].cells, c)
	}
	for i := range list {
		list[i].sortUsages(offer)
	}
	return list
}

// sortUsages computes the usages of each counter.
func (g *counterGroup) sortUsages(offer *NodeOffer) {
	g.usages = make([][]cellUsage, len(g.counters))
	for i, counter := range g.counters {
		for _, c := range g.cells {
			g.usages[i] = append(g.usages[i], cellUsage{c, offer.cells[c].usage.amountOf(counter)})
		}
		slices.SortStableFunc(g.usages[i], func(x, y cellUsage) int { return cmp.Compare(x.value, y.value) })
	}
}

// maxDevices returns an upper bound for the devices that can be allocated together from the cells
// marked in mine: for each counter, as many of the smallest devices as fit.
func (g *counterGroup) maxDevices(offer *NodeOffer, available []int, marked []bool) int {
	most := 0
	for _, c := range g.cells {
		if marked[c] {
			most += available[c]
		}
	}
	for i := range g.counters {
		if most > 0 {
			most = min(most, g.maxByCounter(offer, available, marked, i))
		}
	}
	return most
}

// maxByCounter returns the bound of maxDevices for one counter, given by its index.
func (g *counterGroup) maxByCounter(offer *NodeOffer, available []int, marked []bool, i int) int {
	count, left := 0, offer.counters[g.view].remaining[g.counters[i]]
	for _, take := range g.usages[i] {
		switch {
		case !marked[take.cell]:
			continue
		case take.value == 0:
			count += available[take.cell]
			continue
		}
		fits := int(min(int64(available[take.cell]), max(0, left)/take.value))
		count += fits
		if left -= int64(fits) * take.value; fits < available[take.cell] {
			break
		}
	}
	return count
}

func (u *counterUsage) amountOf(counter int) int64 {
	for _, a := range u.amounts {
		if a.counter == counter {
			return a.value
		}
	}
	return 0
}

// withinCounters reports whether counters have enough left for the devices still needed: of all
// requests together, of each request, and of the requests that depend on one counter set.
func (f *flowBound) withinCounters() bool {
	b := f.offer
	if b.counters == nil {
		return true
	}
	if f.groups == nil {
		f.groups = b.counterGroups()
		f.sums = b.counterSums(f.groups)
		f.groupOf = make([]int, len(b.cells))
		for c := range f.groupOf {
			f.groupOf[c] = -1
		}
		for i := range f.groups {
			for _, c := range f.groups[i].cells {
				f.groupOf[c] = i
			}
		}
	}
	total, all := 0, make([]bool, len(b.cells))
	bound, grouped := make([]int, len(f.groups)), make([]bool, len(b.cells))
	for n, need := range f.flow.need {
		if total += need; need == 0 {
			continue
		}
		usable := make([]bool, len(b.cells))
		for _, c := range f.flow.edges[n] {
			usable[c], all[c] = true, true
		}
		if f.maxFrom(usable) < need {
			return false
		}
		if h := f.onlyGroup(n); h >= 0 {
			bound[h] += need
			for _, c := range f.flow.edges[n] {
				grouped[c] = true
			}
		}
	}
	for h, need := range bound {
		if need > 0 && f.groups[h].maxDevices(b, f.flow.capacity, grouped) < need {
			return false
		}
	}
	return f.maxFrom(all) >= total
}

// onlyGroup returns the counter group that all devices for a flow node come from, or -1.
func (f *flowBound) onlyGroup(node int) int {
	group := -1
	for _, c := range f.flow.edges[node] {
		if f.flow.capacity[c] == 0 {
			continue
		}
		if f.groupOf[c] < 0 || group >= 0 && f.groupOf[c] != group {
			return -1
		}
		group = f.groupOf[c]
	}
	return group
}

// maxFrom returns an upper bound for the devices that can be allocated from the cells.
func (f *flowBound) maxFrom(cells []bool) int {
	b := f.offer
	supply := 0
	for c := range b.cells {
		if cells[c] && !b.cells[c].usesCounters() {
			supply += f.flow.capacity[c]
		}
	}
	for i := range f.groups {
		supply += f.groups[i].maxDevices(b, f.flow.capacity, cells)
	}
	return supply
}

// exhaustedCounter describes a counter that alone has too little left for the wanted devices, or
// returns "".
func (d *decisions) exhaustedCounter(requests []int, wanted int) string {
	b := d.offer
	room, all, total := make([]int, len(b.cells)), make([]bool, len(b.cells)), 0
	for c := range b.cells {
		if all[c] = true; d.anyAdmits(requests, &b.cells[c]) {
			room[c] = b.cells[c].available()
			total += room[c]
		}
	}
	for _, h := range b.counterGroups() {
		elsewhere := total
		for _, c := range h.cells {
			elsewhere -= room[c]
		}
		for i, counter := range h.counters {
			if most := h.maxByCounter(b, room, all, i); elsewhere+most < wanted {
				v := b.counters[h.view]
				return fmt.Sprintf("counter %s has %s left, enough for %d", v.names[counter],
					v.format(counter, max(0, v.remaining[counter])), most)
			}
		}
	}
	return ""
}

// anyAdmits reports whether one of the requests can still get devices of the cell.
func (d *decisions) anyAdmits(requests []int, c *cell) bool {
	return slices.ContainsFunc(requests, func(w int) bool {
		eligibilities, _ := d.openEligibilities(w)
		return slices.ContainsFunc(eligibilities, func(r int) bool { return d.admits(&d.offer.problem.eligibilities[r], c) })
	})
}
