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
	counts  [][]int          // by want and option: how many devices it takes; -1 if it cannot be had
	first   Choice           // the best one, if it was looked for
	shares  bool             // there are devices that can be had more than once
	counted map[int]*counted // by view: its counters; nil if no device takes from any
}

// cell is a set of free devices that nothing in the Problem can tell apart: of one pool, for the same nodes,
// matching the same selections, with the same values of the attributes that matter.
type cell struct {
	view    int // index in Board.views
	claim   int // the one whose requests with admin access can have the devices, held or not; -1 if they are free
	scope   int
	matches model.Bits // selections, and behind them those of others
	ids     []int      // of values
	values  [][]string // by attribute
	devices []int      // indices in the pool, rising
	trait   int        // what an allocation of the devices says beyond their names
	waits   bool       // something has to be done for them first
	share   *share     // of the one device, if it can be had more than once; devices has it once
	need    need       // what each of them takes from counters
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
		if reason := b.addView(len(b.views) - 1); reason != nil {
			return nil, reason
		}
	}
	b.rank()
	b.count()
	s := newSearch(b)
	if reason := s.refute(); reason != nil {
		return nil, reason
	}
	if p.exact() && b.counted == nil && !b.shares {
		return b, nil
	}
	s.budget = &Budget{Limit: min(boardSteps, p.trial.Limit-p.trial.Spent)}
	s.accept = func(c Choice) bool {
		b.first = c
		return true
	}
	outcome := s.choose(0)
	p.trial.Spent += s.budget.Spent
	if outcome == Exhausted {
		return nil, b.conflict()
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
	if p.plain() && len(p.selections) == 1 && !p.counts(node) {
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

// counts says whether devices of the node take from counters, or can be had more than once.
func (p *Problem) counts(node *model.NodeInfo) bool {
	views := p.state.Pools(node)
	for i := range views {
		if !views[i].IsUsable() {
			continue
		}
		if known := p.allocator.matcher.pool(&views[i]); known.counters != nil || known.shared != nil {
			return true
		}
	}
	return false
}

func (p *Problem) freeOfOne(node *model.NodeInfo) (int, Offer) {
	free := 0
	views := p.state.Pools(node)
	for i := range views {
		view := &views[i]
		if !view.IsUsable() {
			continue
		}
		known := p.allocator.matcher.pool(view)
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

func (b *Board) addView(at int) *Reason {
	p, view := b.problem, &b.views[at]
	known := p.allocator.matcher.pool(view)
	sets := make([]model.Bits, len(p.selections), len(p.selections)+len(p.others))
	any, admin := model.NewBits(len(view.Devices)), model.NewBits(len(view.Devices))
	for i, selection := range p.selections {
		set := p.allocator.matcher.match(known, selection)
		if set.failed {
			return p.selectorError(i, view.Pool, set)
		}
		sets[i] = set.devices.And(known.openTo(selection).devices)
		if selection.admin {
			admin.Or(sets[i])
		} else {
			any.Or(sets[i])
		}
	}
	for _, selection := range p.others {
		// What fails here is for those to report who ask for it.
		sets = append(sets, p.allocator.matcher.match(known, selection).devices.And(known.openTo(selection).devices))
	}
	values := make([]*valueSets, len(p.attributes))
	for i := range p.attributes {
		values[i] = p.allocator.matcher.valuesOf(known, &p.attributes[i])
		if !values[i].failed {
			continue
		}
		// What fails for others is for those to report.
		if reason := p.attributeError(&p.attributes[i], view.Pool, values[i]); len(reason.Asked) > 0 {
			return reason
		}
	}
	l := layout{board: b, view: at, first: len(b.cells), sets: sets, values: values, single: p.mixed(), traits: known.traits}
	l.counted = b.countersOf(at, known)
	l.add(any.And(view.Reach).AndNot(known.taken(view)), -1)
	for c := range p.claims {
		if p.hasAdmin && hasAdmin(p.claims[c]) {
			l.add(admin.And(view.Reach), c)
		}
	}
	return nil
}

// countersOf lays out what the counters of a view have left; nil if there are none.
func (b *Board) countersOf(at int, known *poolMatches) *counted {
	if known.counters == nil {
		return nil
	}
	view := &b.views[at]
	c := &counted{counters: known.counters, left: known.counters.left(view.Taken()), inUse: common{}}
	view.Taken().Each(func(device int) bool {
		c.inUse.add(known.counters.needs[device].groups)
		return true
	})
	c.lost, _ = view.Unpublished()
	if b.counted == nil {
		b.counted = map[int]*counted{}
	}
	b.counted[at] = c
	return c
}

// layout sorts the devices of one pool into cells.
type layout struct {
	board   *Board
	view    int
	first   int // cell of the pool
	sets    []model.Bits
	values  []*valueSets
	single  bool // each device is a cell of its own
	counted *counted
	traits  *traits
}

func (l *layout) add(devices model.Bits, claim int) {
	devices.Each(func(device int) bool {
		l.addDevice(device, claim)
		return true
	})
}

func (l *layout) addDevice(device, claim int) {
	b := l.board
	var shared *share
	if b.views[l.view].Devices[device].AllowMultipleAllocations {
		if shared = b.shareOf(&b.views[l.view], device, claim >= 0); shared == nil || shared.room == 0 {
			return
		}
		b.shares = true
	}
	var need need
	if l.counted != nil && claim < 0 && (shared == nil || !shared.held) {
		if l.counted.bars(device) != "" {
			return
		}
		need = l.counted.needs[device]
	}
	c := cell{need: need, share: shared, view: l.view, claim: claim, scope: b.views[l.view].ScopeOf(device), matches: model.NewBits(len(l.sets))}
	c.trait, c.waits = l.traits.at(device)
	for i, set := range l.sets {
		if set.Has(device) && (shared == nil || i >= len(shared.takes) || shared.takes[i] != nil) {
			c.matches.Set(i)
		}
	}
	for _, values := range l.values {
		c.ids = append(c.ids, values.of[device])
	}
	for i := l.first; i < len(b.cells) && !l.single && shared == nil; i++ {
		if b.cells[i].alike(&c) {
			b.cells[i].devices = append(b.cells[i].devices, device)
			return
		}
	}
	for i, values := range l.values {
		c.values = append(c.values, values.sets[c.ids[i]])
	}
	c.devices = []int{device}
	b.cells = append(b.cells, c)
}

func (c *cell) alike(other *cell) bool {
	return c.share == nil && c.scope == other.scope && c.claim == other.claim && c.need.id == other.need.id && c.trait == other.trait &&
		slices.Equal(c.matches, other.matches) && slices.Equal(c.ids, other.ids)
}

// has says whether the devices have the value of the attribute.
func (c *cell) has(attribute int, value string) bool {
	return slices.Contains(c.values[attribute], value)
}

// allows says whether devices of the cell can be had in the role, whatever else is had.
func (c *cell) allows(r *role) bool {
	return c.matches.Has(r.selection) && r.admin == (c.claim >= 0) && (!r.admin || c.claim == r.claim)
}

// rank puts first what should be used first: devices that need not be waited for, of these those of this node alone,
// then those of the fullest pool, then the smallest partitions, then those that serve the fewest requests.
func (b *Board) rank() {
	free := make([]int, len(b.views))
	for i := range b.views {
		free[i] = b.views[i].Reach.AndNot(b.views[i].Taken()).Len()
	}
	remote := func(c *cell) int { return rankOf(!b.isLocal(c)) }
	slices.SortStableFunc(b.cells, func(x, y cell) int {
		return cmp.Or(
			cmp.Compare(rankOf(x.waits), rankOf(y.waits)),
			cmp.Compare(remote(&x), remote(&y)),
			cmp.Compare(free[x.view], free[y.view]),
			cmp.Compare(x.need.weight, y.need.weight),
			cmp.Compare(x.matches.Len(), y.matches.Len()),
		)
	})
}

// rankOf orders what is false before what is true.
func rankOf(last bool) int {
	if last {
		return 1
	}
	return 0
}

// isLocal says whether the devices can be used from this node alone.
func (b *Board) isLocal(c *cell) bool { return b.views[c.view].Devices[c.devices[0]].Scope.Node != "" }

// count finds out how many devices each option takes.
func (b *Board) count() {
	b.counts = make([][]int, len(b.problem.wants))
	for w := range b.problem.wants {
		options := b.problem.wants[w].options
		b.counts[w] = make([]int, len(options))
		for o := range options {
			if b.counts[w][o] = options[o].count; options[o].asked.All {
				b.counts[w][o] = b.countAll(&options[o])
			}
		}
	}
}

// countAll is how many devices match, or -1 if there are none or they cannot all be had: from pools that are not
// whole nobody knows what all is.
func (b *Board) countAll(o *option) int {
	p := b.problem
	if len(b.views) < len(p.state.Pools(b.node)) {
		return -1
	}
	count := 0
	selection := p.selections[o.selection]
	for i := range b.views {
		view := &b.views[i]
		known := p.allocator.matcher.pool(view)
		open := known.openTo(selection)
		// What has too little capacity for anybody does not match.
		matching := p.allocator.matcher.match(known, selection).devices.And(view.Reach).And(open.capable)
		free := matching.And(open.devices)
		if !selection.admin {
			free = free.AndNot(known.taken(view))
		}
		if count += matching.Len(); free.Len() < matching.Len() {
			return -1
		}
	}
	if count == 0 || count > maxDevices {
		return -1
	}
	return count
}

// Free is how many devices of each pool some request could have; a pool may be named more than once.
func (b *Board) Free(each func(pool model.PoolID, devices int)) {
	for i := range b.cells {
		if b.cells[i].claim < 0 {
			each(b.views[b.cells[i].view].ID, b.cells[i].room())
		}
	}
}
