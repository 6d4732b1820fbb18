package alloc

import (
	"cmp"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/allot-dev/allot/internal/model"
)

// maxPackingSteps bounds the search for how many devices can be had beside each other.
const maxPackingSteps = 1 << 14

// Stock is what a usable pool has to give to those who tolerate no taint, whatever they ask for and whichever nodes reach it.
type Stock struct {
	view    *model.PoolView
	counted *counted // nil: no device takes from counters
}

// NewStock looks at a pool. It is good until the State changes.
func NewStock(view *model.PoolView) *Stock {
	s := &Stock{view: view}
	if c := countersOf(view.Pool); c != nil {
		s.counted = c.seen(view)
	}
	return s
}

// Bars says why a device that nobody holds cannot be had, "" if it can.
func (s *Stock) Bars(device int) string {
	if why := s.closed(device); why != "" || s.counted == nil {
		return why
	}
	return s.counted.bars(device)
}

func (s *Stock) closed(device int) string {
	return closedBy(&s.view.Devices[device], s.view.Rules(), &selection{})
}

// HasPart says whether more can be had of a shared device that is held: if it has enough left of all its capacity for the
// smallest part that its policies give out. Its counters are paid for.
func (s *Stock) HasPart(device int) bool {
	if s.closed(device) != "" {
		return false
	}
	d := &s.view.Devices[device]
	part := &share{left: capacity{}}
	for name, has := range d.Capacity {
		part.left[name] = has.Value.DeepCopy()
	}
	if !part.leave(s.view, device) {
		return false
	}
	least := capacity{}
	for name, left := range part.left {
		if has := d.Capacity[name].Value; has.Sign() > 0 {
			least[name] = smallest(left)
		}
	}
	takes, why := consumed(d, &resourcev1.CapacityRequirements{Requests: least})
	return why == "" && part.fits(takes)
}

// smallest is the least that makes sense to ask for: one, or a thousandth of that which comes in fractions.
func smallest(left resource.Quantity) resource.Quantity {
	one := resource.NewQuantity(1, left.Format)
	if left.Cmp(*one) < 0 {
		return *resource.NewMilliQuantity(1, left.Format)
	}
	return *one
}

// Most is how many of these devices, which nobody holds, can be had beside each other. It answers false if it is only
// known that there are at least so many, because there are too many ways to choose.
func (s *Stock) Most(devices []int) (most int, sure bool) {
	kinds := map[int]*packed{}
	for _, device := range devices {
		switch {
		case s.Bars(device) != "":
		case s.counted == nil:
			most++
		default:
			need := &s.counted.needs[device]
			if kinds[need.id] == nil {
				kinds[need.id] = &packed{need: need}
			}
			kinds[need.id].count++
		}
	}
	sure = true
	for _, group := range s.groups(kinds) {
		p := packing{kinds: group, left: slices.Clone(s.counted.left), inUse: maps.Clone(s.counted.inUse), steps: maxPackingSteps}
		p.place(0, 0)
		most += p.best
		sure = sure && p.steps > 0
	}
	return most, sure
}

// packed are devices that take the same.
type packed struct {
	need  *need
	count int
}

// groups are the kinds that have a counter set in common, directly or through others: what is had of one group leaves all
// others alone.
func (s *Stock) groups(kinds map[int]*packed) [][]*packed {
	var out [][]*packed
	bySet := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		at := len(out)
		out = append(out, []*packed{kinds[id]})
		for _, set := range s.sets(kinds[id].need) {
			if other, ok := bySet[set]; ok && other != at {
				out[at], out[other] = append(out[at], out[other]...), nil
				for name, in := range bySet {
					if in == other {
						bySet[name] = at
					}
				}
			}
			bySet[set] = at
		}
	}
	for _, group := range out {
		slices.SortStableFunc(group, func(a, b *packed) int { return cmp.Compare(a.need.weight, b.need.weight) })
	}
	return slices.DeleteFunc(out, func(group []*packed) bool { return group == nil })
}

// sets are the counter sets that a device takes from.
func (s *Stock) sets(n *need) []string {
	var out []string
	for _, a := range n.amounts {
		out = append(out, s.counted.set(a.counter))
	}
	for _, g := range n.groups {
		out = append(out, g.set)
	}
	return out
}

// packing is a search for the most devices of some kinds.
type packing struct {
	kinds []*packed
	left  []int64
	inUse common
	best  int
	steps int // that are left; none: the search was given up
}

// place has devices of the kinds from at on, beside those that were placed. The more there are of the first, the sooner
// a good answer is found.
func (p *packing) place(at, placed int) {
	p.best = max(p.best, placed)
	if p.steps <= 0 || at == len(p.kinds) {
		return
	}
	p.steps--
	if placed+p.bound(at) <= p.best {
		return
	}
	need := p.kinds[at].need
	for n := p.room(p.kinds[at]); n >= 0; n-- {
		before := p.inUse
		if n > 0 && len(need.groups) > 0 {
			p.inUse = maps.Clone(before)
			p.inUse.add(need.groups)
		}
		need.take(p.left, int64(n))
		p.place(at+1, placed+n)
		need.take(p.left, -int64(n))
		p.inUse = before
	}
}

// room is how many devices of a kind can be had beside those that are placed.
func (p *packing) room(k *packed) int {
	if !p.inUse.admits(k.need.groups) {
		return 0
	}
	room := int64(k.count)
	for _, a := range k.need.amounts {
		room = min(room, max(0, p.left[a.counter])/a.value)
	}
	return int(room)
}

// bound is what cannot be exceeded with the kinds from at on.
func (p *packing) bound(at int) int {
	sum := 0
	for _, k := range p.kinds[at:] {
		sum += p.room(k)
	}
	return sum
}
