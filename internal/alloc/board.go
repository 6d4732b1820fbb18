package alloc

import (
	"cmp"
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// Board is what one node offers for a Problem. It holds while the State does not change.
type Board struct {
	problem *Problem
	node    *model.NodeInfo
	views   []model.PoolView
	cells   []cell
	flow    *flow
}

// cell is a set of free devices that nothing in the Problem can tell apart: of one pool, for the same nodes,
// matching the same selections.
type cell struct {
	view    int // index in Board.views
	scope   int
	matches model.Bits // selections, and behind them those of others
	devices []int      // indices in the pool, rising
	used    int        // the first so many are taken in the search
}

// On lays out what the node offers, or says why it is too little.
func (p *Problem) On(node *model.NodeInfo) (*Board, *Reason) {
	b := &Board{problem: p, node: node}
	for _, view := range p.state.Pools(node) {
		if !view.IsUsable() {
			continue
		}
		b.views = append(b.views, view)
		if reason := b.addCells(len(b.views) - 1); reason != nil {
			return nil, reason
		}
	}
	b.rank()
	b.connect()
	if fits, short := b.flow.solve(); !fits {
		return nil, b.shortage(short)
	}
	return b, nil
}

// Offer is what Free answers.
type Offer int

// A node has enough devices or too few; or a selector fails, which stops the allocation on all nodes.
const (
	Enough Offer = iota
	TooFew
	Broken
)

// Free is how many devices the node offers that some request could have, and whether they are enough. It answers as
// On does, without a reason, and without laying anything out where one selection is all that there is.
func (p *Problem) Free(node *model.NodeInfo) (int, Offer) {
	if len(p.selections) == 1 {
		return p.freeOfOne(node)
	}
	b, reason := p.On(node)
	switch {
	case reason == nil:
		free := 0
		b.Free(func(_ model.PoolID, devices int) { free += devices })
		return free, Enough
	case reason.Kind == SelectorError:
		return 0, Broken
	}
	return 0, TooFew
}

func (p *Problem) freeOfOne(node *model.NodeInfo) (int, Offer) {
	free := 0
	views := p.state.Pools(node)
	for i := range views {
		view := &views[i]
		if !view.IsUsable() {
			continue
		}
		known := p.allocator.matcher.pool(view.Pool)
		set := p.allocator.matcher.match(known, p.selections[0])
		if set.failed {
			return 0, Broken
		}
		free += view.FreeOf(set.devices, known.openTo(p.selections[0]).devices)
	}
	if free < p.Devices() {
		return free, TooFew
	}
	return free, Enough
}

func (b *Board) addCells(at int) *Reason {
	view := &b.views[at]
	known := b.problem.allocator.matcher.pool(view.Pool)
	sets := make([]model.Bits, len(b.problem.selections), len(b.problem.selections)+len(b.problem.others))
	any := model.NewBits(len(view.Devices))
	for i, selection := range b.problem.selections {
		set := b.problem.allocator.matcher.match(known, selection)
		if set.failed {
			return b.problem.selectorError(i, view.Pool, set)
		}
		sets[i] = set.devices.And(known.openTo(selection).devices)
		any.Or(sets[i])
	}
	for _, selection := range b.problem.others {
		// What fails here is for those to report who ask for it.
		sets = append(sets, b.problem.allocator.matcher.match(known, selection).devices.And(known.openTo(selection).devices))
	}
	first := len(b.cells)
	any.And(view.Reach).AndNot(view.Taken()).Each(func(device int) bool {
		b.addDevice(at, first, device, sets)
		return true
	})
	return nil
}

func (b *Board) addDevice(at, first, device int, sets []model.Bits) {
	matches := model.NewBits(len(sets))
	for i, set := range sets {
		if set.Has(device) {
			matches.Set(i)
		}
	}
	scope := b.views[at].ScopeOf(device)
	for i := first; i < len(b.cells); i++ {
		if c := &b.cells[i]; c.scope == scope && slices.Equal(c.matches, matches) {
			c.devices = append(c.devices, device)
			return
		}
	}
	b.cells = append(b.cells, cell{view: at, scope: scope, matches: matches, devices: []int{device}})
}

// rank puts first what should be used first: devices of this node alone, then those of the fullest pool, then those
// that serve the fewest requests.
func (b *Board) rank() {
	free := make([]int, len(b.views))
	for i := range b.views {
		free[i] = b.views[i].Reach.AndNot(b.views[i].Taken()).Len()
	}
	remote := func(c *cell) int {
		if b.views[c.view].Devices[c.devices[0]].Scope.Node != "" {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(b.cells, func(x, y cell) int {
		return cmp.Or(
			cmp.Compare(remote(&x), remote(&y)),
			cmp.Compare(free[x.view], free[y.view]),
			cmp.Compare(x.matches.Len(), y.matches.Len()),
		)
	})
}

func (b *Board) connect() {
	edges := make([][]int, len(b.problem.selections))
	for i := range b.cells {
		b.cells[i].matches.Each(func(selection int) bool {
			if selection < len(edges) {
				edges[selection] = append(edges[selection], i)
			}
			return true
		})
	}
	b.flow = newFlow(edges, len(b.cells))
	for i := range b.cells {
		b.flow.room[i] = len(b.cells[i].devices)
	}
	for i := range b.problem.wants {
		b.flow.need[b.problem.wants[i].selection] += b.problem.wants[i].count
	}
}

// Free is how many devices of each pool some request could have; a pool may be named more than once.
func (b *Board) Free(each func(pool model.PoolID, devices int)) {
	for i := range b.cells {
		each(b.views[b.cells[i].view].ID, len(b.cells[i].devices))
	}
}

func (p *Problem) selectorError(selection int, pool *model.Pool, set *matchSet) *Reason {
	chosen := p.selections[selection]
	r := &Reason{
		Kind: SelectorError, Device: pool.DeviceID(set.device), Selector: set.selector,
		Expression: chosen.selectors[set.selector], Message: set.message,
	}
	for w := range p.wants {
		if p.wants[w].selection != selection {
			continue
		}
		r.Asked = []Asked{p.asked(w)}
		if set.selector < chosen.ofClass {
			r.Class = p.wants[w].class.Name
		} else {
			r.Selector -= chosen.ofClass
		}
		break
	}
	return r
}

// shortage counts for those selections that together ask for too much.
func (b *Board) shortage(short model.Bits) *Reason {
	p := b.problem
	r := &Reason{Kind: Shortage}
	for w := range p.wants {
		if short.Has(p.wants[w].selection) {
			r.Wanted += p.wants[w].count
			r.Asked = append(r.Asked, p.asked(w))
		}
	}
	for i := range b.views {
		b.countMatching(r, short, &b.views[i])
	}
	for _, view := range p.state.Pools(b.node) {
		if usable, why := view.Usable(); !usable {
			r.Pools = append(r.Pools, why)
		}
	}
	return r
}

func (b *Board) countMatching(r *Reason, short model.Bits, view *model.PoolView) {
	known := b.problem.allocator.matcher.pool(view.Pool)
	any, open := model.NewBits(len(view.Devices)), model.NewBits(len(view.Devices))
	barred := make([]string, len(view.Devices))
	short.Each(func(selection int) bool {
		chosen := b.problem.selections[selection]
		matching, to := b.problem.allocator.matcher.match(known, chosen).devices, known.openTo(chosen)
		any.Or(matching)
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
		case len(holders) == 0:
			r.Free++
		case len(r.Held) < maxHeld:
			r.Held = append(r.Held, Held{Device: view.DeviceID(i), By: holders[0]})
		}
		return true
	})
}
