package alloc

import (
	"github.com/allot-dev/allot/internal/model"
)

func (p *Problem) selectorError(selection int, pool *model.Pool, set *matchSet) *Reason {
	chosen := p.selections[selection]
	r := &Reason{
		Kind: SelectorError, Device: pool.DeviceID(set.device), Selector: set.selector,
		Expression: chosen.selectors[set.selector], Message: set.message,
	}
	for w := range p.wants {
		for o := range p.wants[w].options {
			option := &p.wants[w].options[o]
			if option.selection != selection || len(r.Asked) > 0 {
				continue
			}
			r.Asked = []Asked{p.asked(w)}
			if set.selector < chosen.ofClass {
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
	for _, view := range p.state.Pools(b.node) {
		if usable, why := view.Usable(); !usable && (r.All || b.concerns(&view, short)) {
			r.Pools = append(r.Pools, why)
		}
	}
	return r
}

// concerns says whether a pool that cannot be used may have what is asked for: as far as it can be seen, some device
// matches, or there is nothing to be seen.
func (b *Board) concerns(view *model.PoolView, short model.Bits) bool {
	known := b.problem.allocator.matcher.pool(view)
	concerns := len(view.Devices) == 0
	short.Each(func(selection int) bool {
		set := b.problem.allocator.matcher.match(known, b.problem.selections[selection])
		concerns = concerns || set.failed || set.devices.Len() > 0
		return !concerns
	})
	return concerns
}

func (b *Board) countMatching(r *Reason, short model.Bits, at int) {
	view := &b.views[at]
	known := b.problem.allocator.matcher.pool(view)
	any, open := model.NewBits(len(view.Devices)), model.NewBits(len(view.Devices))
	barred, admin := make([]string, len(view.Devices)), false
	short.Each(func(selection int) bool {
		chosen := b.problem.selections[selection]
		matching, to := b.problem.allocator.matcher.match(known, chosen).devices, known.openTo(chosen)
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
		case !open.Has(i):
			if len(r.Barred) < maxHeld {
				r.Barred = append(r.Barred, Barred{Device: view.DeviceID(i), Why: barred[i]})
			}
		case known.shared != nil && known.shared.Has(i):
			if b.offers(at, i, short) {
				r.Free++
				r.Parts = true
			} else if len(r.Barred) < maxHeld {
				r.Barred = append(r.Barred, Barred{Device: view.DeviceID(i), Why: b.tooLittleLeft(view, i, short)})
			}
		case len(holders) == 0 && !admin && b.counted[at] != nil && b.counted[at].bars(i) != "":
			if len(r.Barred) < maxHeld {
				r.Barred = append(r.Barred, Barred{Device: view.DeviceID(i), Why: b.counted[at].bars(i)})
			}
		case len(holders) == 0 || admin:
			r.Free++
		case len(r.Held) < maxHeld:
			r.Held = append(r.Held, Held{Device: view.DeviceID(i), By: holders[0]})
		}
		return true
	})
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
