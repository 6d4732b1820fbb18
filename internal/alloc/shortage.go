package alloc

import (
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

func (p *Problem) selectorError(selection int, pool *model.Pool, set *matchSet) *Reason {
	chosen, at := p.selections[selection], len(set.filter.selectors)-1
	r := &Reason{
		Kind: SelectorError, Device: pool.DeviceID(set.device), Selector: at,
		Expression: set.filter.last(), Message: set.message, Costly: set.costly,
	}
	if strings.Contains(set.message, "no such key") {
		r.Hint = p.allocator.matcher.program(r.Expression).reads.hint(pool, set.device)
	}
	for w := range p.wants {
		for o := range p.wants[w].options {
			option := &p.wants[w].options[o]
			if option.selection != selection || len(r.Asked) > 0 {
				continue
			}
			r.Asked = []Asked{p.asked(w)}
			if at < chosen.ofClass {
				r.Class = option.class.Name
			} else {
				r.Selector -= chosen.ofClass
			}
		}
	}
	return r
}

// shortage counts for those wants that together ask for too much.
func (s *search) shortage(wants []int) *Reason {
	b, p := s.board, s.board.problem
	r := &Reason{Kind: Shortage}
	short := model.NewBits(len(p.selections))
	for _, w := range wants {
		want := &p.wants[w]
		r.Asked = append(r.Asked, p.asked(w))
		least := want.least()
		for o := range want.options {
			if s.chosen[w] >= 0 && s.chosen[w] != o {
				continue
			}
			if s.chosen[w] == o {
				least = max(1, want.options[o].count)
			}
			short.Set(want.options[o].selection)
			r.All = r.All || want.options[o].asked.All
		}
		r.Wanted += least
	}
	for i := range b.views {
		b.countMatching(r, short, i)
	}
	if r.Free >= r.Wanted {
		r.Scarce = s.scarce(wants, r.Wanted)
		if w, needed := s.overdrawn(); r.Scarce == "" && w != nil {
			r.Scarce = w.text(b, needed)
		}
	}
	for _, view := range p.state.Pools(b.node) {
		if usable, why := view.Usable(); !usable && (r.All || b.concerns(&view, short)) {
			r.Pools = append(r.Pools, why)
		}
	}
	if r.Match < r.Wanted && len(r.Pools) == 0 {
		r.Dropped, r.Passed = b.drops(short)
	}
	return r
}

// concerns says whether a pool that cannot be used may have what is asked for: as far as it can be seen, some device
// matches, or there is nothing to be seen.
func (b *Board) concerns(view *model.PoolView, short model.Bits) bool {
	known := b.problem.allocator.matcher.pool(view)
	concerns := len(view.Devices) == 0
	short.Each(func(selection int) bool {
		set := b.problem.allocator.matcher.match(known, b.problem.selections[selection].filter)
		concerns = concerns || set.failed || set.devices.Len() > 0
		return !concerns
	})
	return concerns
}

func (b *Board) countMatching(r *Reason, short model.Bits, at int) {
	p, view := b.problem, &b.views[at]
	known := p.allocator.matcher.pool(view)
	r.Here += view.Reach.Len()
	any, open := model.NewBits(len(view.Devices)), model.NewBits(len(view.Devices))
	barred, admin := make([]string, len(view.Devices)), false
	short.Each(func(selection int) bool {
		chosen := b.problem.selections[selection]
		found := b.problem.allocator.matcher.found(known, chosen)
		matching, to := found.match.devices, found.open
		if r.All {
			matching = matching.And(to.capable)
		}
		any.Or(matching)
		admin = admin || chosen.admin
		open.Or(matching.And(to.devices))
		matching.AndNot(to.devices).Each(func(i int) bool {
			barred[i] = to.barred[i]
			return true
		})
		return true
	})
	any.And(view.Reach).Each(func(i int) bool {
		r.Match++
		switch holders := view.Holders(i); {
		case known.skipping != nil && known.skipping.Has(i) && !b.node.Node.SkipsOperations:
			if len(r.Barred) < maxHeld {
				r.Barred = append(r.Barred, Barred{Device: view.DeviceID(i), Why: "needs a node that declares the feature " + model.OptionalNodeOperations})
			}
		case !open.Has(i):
			if len(r.Barred) < maxHeld {
				r.Barred = append(r.Barred, Barred{Device: view.DeviceID(i), Why: barred[i]})
			}
		case len(holders) == 0 && !admin && b.counted[at] != nil && b.counted[at].bars(i) != "":
			if len(r.Barred) < maxHeld {
				why := b.counted[at].bars(i)
				if b.takenByUs(at, i) {
					why += " beside the group's other pods"
				}
				r.Barred = append(r.Barred, Barred{Device: view.DeviceID(i), Why: why})
			}
		case known.shared != nil && known.shared.Has(i):
			if b.offers(at, i, short) {
				r.Free++
				r.Parts = true
			} else if len(r.Barred) < maxHeld {
				r.Barred = append(r.Barred, Barred{Device: view.DeviceID(i), Why: b.tooLittleLeft(view, i, short)})
			}
		case len(holders) == 0 || admin:
			r.Free++
		case p.ours != nil && p.ours(holders[0]):
			if len(r.Ours) < maxHeld {
				r.Ours = append(r.Ours, view.DeviceID(i))
			}
		case len(r.Held) < maxHeld:
			r.Held = append(r.Held, Held{Device: view.DeviceID(i), By: holders[0]})
		}
		return true
	})
}

// takenByUs reports whether claims take in the same trial from the counter that has too little left for a device.
func (b *Board) takenByUs(at, device int) bool {
	counted, view, found := b.counted[at], &b.views[at], false
	counter := counted.needs[device].lacks(counted.left)
	if b.problem.ours == nil || counter < 0 {
		return false
	}
	view.Taken().Each(func(taken int) bool {
		holders := view.Holders(taken)
		found = counted.needs[taken].of(counter) > 0 && len(holders) > 0 && b.problem.ours(holders[0])
		return !found
	})
	return found
}

// drops says which of their selectors keep devices from the selections, each once, and how many selectors some device matches.
func (b *Board) drops(short model.Bits) (list []Drop, passed int) {
	short.Each(func(selection int) bool {
		chosen, class := b.problem.selections[selection], b.problem.classOf(selection)
		before := b.matching(chosen.filter.first(0))
		for n, expression := range chosen.filter.selectors {
			matching := b.matching(chosen.filter.first(n + 1))
			drop := Drop{Expression: expression, Dropped: before - matching, Of: before}
			if n < chosen.ofClass {
				drop.Class = class
			}
			if drop.Dropped > 0 && !slices.Contains(list, drop) {
				list = append(list, drop)
			}
			if before = matching; matching > 0 {
				passed = max(passed, n+1)
			}
		}
		return true
	})
	return list, passed
}

// matching is how many devices match the filter.
func (b *Board) matching(f *filter) int {
	n := 0
	for i := range b.views {
		known := b.problem.allocator.matcher.pool(&b.views[i])
		n += b.problem.allocator.matcher.match(known, f).devices.And(b.views[i].Reach).Len()
	}
	return n
}

// classOf is the class whose selectors a selection begins with.
func (p *Problem) classOf(selection int) string {
	for w := range p.wants {
		for o := range p.wants[w].options {
			if option := &p.wants[w].options[o]; option.selection == selection {
				return option.class.Name
			}
		}
	}
	return ""
}

// offers says whether a shared device has a part left for some of the selections.
func (b *Board) offers(view, device int, short model.Bits) bool {
	for c := range b.cells {
		cell := &b.cells[c]
		if cell.view != view || cell.share == nil || cell.devices[0] != device {
			continue
		}
		offers := false
		short.Each(func(selection int) bool {
			offers = cell.matches.Has(selection)
			return !offers
		})
		if offers {
			return true
		}
	}
	return false
}
