package alloc

import (
	"cmp"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/allot-dev/allot/internal/model"
)

// maxPackingSteps limits the search for devices that can be allocated together.
const maxPackingSteps = 1 << 14

// PoolSummary describes what a usable pool can still allocate to requests without tolerations,
// whatever their selectors and from whichever node.
type PoolSummary struct {
	view     *model.PoolView
	counters *viewCounters // nil if no device takes from counters
}

// NewPoolSummary returns the summary of a pool. It is valid until the State changes.
func NewPoolSummary(view *model.PoolView) *PoolSummary {
	s := &PoolSummary{view: view}
	if c := countersOf(view.Pool); c != nil {
		s.counters = c.forView(view)
	}
	return s
}

// UnavailableReason returns why a free device cannot be allocated, or "".
func (s *PoolSummary) UnavailableReason(device int) string {
	if why := s.taintReason(device); why != "" || s.counters == nil {
		return why
	}
	return s.counters.unavailableReason(device)
}

func (s *PoolSummary) taintReason(device int) string {
	return unavailableReason(&s.view.Devices[device], s.view.Rules(), &selection{})
}

// HasShare reports whether another share of a shared device in use can be allocated: whether all
// its capacities have enough left for the smallest share that their policies permit. Counters are
// already paid for.
func (s *PoolSummary) HasShare(device int) bool {
	if s.taintReason(device) != "" {
		return false
	}
	d := &s.view.Devices[device]
	part := &sharedDevice{remaining: capacity{}}
	for name, has := range d.Capacity {
		part.remaining[name] = has.Value.DeepCopy()
	}
	if !part.subtractHeld(s.view, device) {
		return false
	}
	least := capacity{}
	for name, left := range part.remaining {
		if has := d.Capacity[name].Value; has.Sign() > 0 {
			least[name] = smallest(left)
		}
	}
	takes, why := consumed(d, &resourcev1.CapacityRequirements{Requests: least})
	return why == "" && part.fits(takes)
}

// smallest returns the smallest reasonable request: 1, or 0.001 if less than 1 is left.
func smallest(left resource.Quantity) resource.Quantity {
	one := resource.NewQuantity(1, left.Format)
	if left.Cmp(*one) < 0 {
		return *resource.NewMilliQuantity(1, left.Format)
	}
	return *one
}

// MaxConcurrent returns how many of these free devices can be allocated at the same time. sure is
// false if the search limit was reached; then the number is a lower bound.
func (s *PoolSummary) MaxConcurrent(devices []int) (most int, sure bool) {
	kinds := map[int]*equalDevices{}
	for _, device := range devices {
		switch {
		case s.UnavailableReason(device) != "":
		case s.counters == nil:
			most++
		default:
			need := &s.counters.usages[device]
			if kinds[need.id] == nil {
				kinds[need.id] = &equalDevices{usage: need}
			}
			kinds[need.id].count++
		}
	}
	sure = true
	for _, group := range s.connectedGroups(kinds) {
		p := packing{
			kinds:       group,
			remaining:   slices.Clone(s.counters.remaining),
			groupsInUse: maps.Clone(s.counters.groupsInUse),
			steps:       maxPackingSteps,
		}
		p.search(0, 0)
		most += p.best
		sure = sure && p.steps > 0
	}
	return most, sure
}

// equalDevices is a number of devices with the same counter usage.
type equalDevices struct {
	usage *counterUsage
	count int
}

// connectedGroups groups the devices that share a counter set, directly or through others.
// Allocating devices of one group does not affect the other groups.
func (s *PoolSummary) connectedGroups(kinds map[int]*equalDevices) [][]*equalDevices {
	var out [][]*equalDevices
	bySet := map[string]int{}
	for _, id := range slices.Sorted(maps.Keys(kinds)) {
		at := len(out)
		out = append(out, []*equalDevices{kinds[id]})
		for _, set := range s.sets(kinds[id].usage) {
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
		slices.SortStableFunc(group, func(a, b *equalDevices) int { return cmp.Compare(a.usage.weight, b.usage.weight) })
	}
	return slices.DeleteFunc(out, func(group []*equalDevices) bool { return group == nil })
}

// sets returns the counter sets of a usage.
func (s *PoolSummary) sets(n *counterUsage) []string {
	var out []string
	for _, a := range n.amounts {
		out = append(out, s.counters.setOf(a.counter))
	}
	for _, g := range n.groups {
		out = append(out, g.set)
	}
	return out
}

// packing searches for the maximum number of devices that can be allocated together.
type packing struct {
	kinds       []*equalDevices
	remaining   []int64
	groupsInUse commonGroups
	best        int
	steps       int // steps left; 0 if the search was aborted
}

// search tries numbers of devices for kinds[at:], given those already placed. Larger numbers are
// tried first to find a good bound early.
func (p *packing) search(at, placed int) {
	p.best = max(p.best, placed)
	if p.steps <= 0 || at == len(p.kinds) {
		return
	}
	p.steps--
	if placed+p.bound(at) <= p.best {
		return
	}
	need := p.kinds[at].usage
	for n := p.maxMore(p.kinds[at]); n >= 0; n-- {
		before := p.groupsInUse
		if n > 0 && len(need.groups) > 0 {
			p.groupsInUse = maps.Clone(before)
			p.groupsInUse.add(need.groups)
		}
		need.consume(p.remaining, int64(n))
		p.search(at+1, placed+n)
		need.consume(p.remaining, -int64(n))
		p.groupsInUse = before
	}
}

// maxMore returns how many devices of a kind fit in addition to those placed.
func (p *packing) maxMore(k *equalDevices) int {
	if !p.groupsInUse.admits(k.usage.groups) {
		return 0
	}
	room := int64(k.count)
	for _, a := range k.usage.amounts {
		room = min(room, max(0, p.remaining[a.counter])/a.value)
	}
	return int(room)
}

// bound returns an upper bound for the devices of kinds[at:].
func (p *packing) bound(at int) int {
	sum := 0
	for _, k := range p.kinds[at:] {
		sum += p.maxMore(k)
	}
	return sum
}
