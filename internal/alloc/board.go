package alloc

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/allot-dev/allot/internal/model"
)

// Board is what one node offers for a Problem. It holds while the State does not change.
type Board struct {
	problem *Problem
	node    *model.NodeInfo
	views   []model.PoolView
	cells   []cell
	counts  [][]int                   // by want and option: how many devices it takes; -1 if it cannot be had
	first   Choice                    // the best one, if it was looked for
	earlier int64                     // how early the alternatives of first are; see search.earlier
	start   *search                   // one that has not decided anything, for the first who searches; nil if it has gone
	shares  bool                      // there are devices that can be had more than once
	counted map[int]*counted          // by view: its counters; nil if no device takes from any
	looked  map[int]map[string]string // by attribute; see looks
}

// cell is what is free of a part, or what claims with admin access can have of it.
type cell struct {
	*part
	view    int        // index in Board.views
	claim   int        // the one whose requests with admin access can have the devices, held or not; -1 if they are free
	matches model.Bits // those of the part, unless a shared device has too little left for some
	devices []int      // indices in the pool, rising
	share   *share     // of the one device, if it can be had more than once; devices has it once
	need    need       // that of the part; nothing for a shared device that is in use, as it is paid for
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
		b.start = s
		return b, nil
	}
	s.any = true
	s.budget = &Budget{Limit: min(boardSteps, p.trial.Limit-p.trial.Spent)}
	s.accept = func(c Choice) bool {
		b.first, b.earlier = c, s.earlier()
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
	free, _, offer := p.Offered(node)
	return free, offer
}

// Offered is Free, and how early the alternatives are that the node's best choice has: the more, the better. Without
// alternatives it is 0.
func (p *Problem) Offered(node *model.NodeInfo) (free int, earlier int64, offer Offer) {
	if p.plain() && len(p.selections) == 1 {
		if free, offer, known := p.freeOfOne(node); known {
			return free, 0, offer
		}
	}
	b, reason := p.On(node)
	switch {
	case reason == nil:
		b.Free(func(_ model.PoolID, devices int) { free += devices })
		return free, b.earlier, Enough
	case reason.Kind == SelectorError:
		return 0, 0, Broken
	}
	return 0, 0, TooFew
}

// Counts is how many devices the node has that some request could have, whether they are enough or not. It answers false if
// counting does not tell what can be had.
func (p *Problem) Counts(node *model.NodeInfo) (int, bool) {
	if !p.plain() || len(p.selections) != 1 {
		return 0, false
	}
	free, offer, known := p.freeOfOne(node)
	return free, known && offer != Broken
}

// CountedBy is equal for Problems to which Counts answers alike, and changes its answer for a node only with the node's own devices,
// and with State.SharedVersion. It is "" if Counts never answers.
func (p *Problem) CountedBy() string {
	if !p.plain() || len(p.selections) != 1 {
		return ""
	}
	return strconv.Itoa(p.Devices()) + " " + p.selections[0].key
}

// Takes says whether some request could have the device, if nobody held it.
func (p *Problem) Takes(id model.DeviceID) bool {
	view, ok := p.state.View(id.PoolID())
	if !ok {
		return false
	}
	device, ok := view.Index(id.Device)
	if !ok {
		return false
	}
	known := p.allocator.matcher.pool(&view)
	return slices.ContainsFunc(p.selections, func(s *selection) bool { return p.allocator.matcher.found(known, s).free.Has(device) })
}

// freeOfOne is Free where one selection is all that there is. It answers false if devices take from counters, or can be had
// more than once, so that there is more to it.
func (p *Problem) freeOfOne(node *model.NodeInfo) (int, Offer, bool) {
	free, offer := 0, Enough
	views := p.state.Pools(node)
	for i := range views {
		view := &views[i]
		if !view.IsUsable() {
			continue
		}
		known := p.allocator.matcher.pool(view)
		if known.counters != nil || known.shared != nil || known.skipping != nil {
			return 0, TooFew, false
		}
		found := p.allocator.matcher.found(known, p.selections[0])
		if found.match.failed {
			offer = Broken
		}
		free += view.FreeOf(found.free)
	}
	switch {
	case offer == Broken:
		return 0, Broken, true
	case free < p.Devices():
		return free, TooFew, true
	}
	return free, Enough, true
}

func (b *Board) addView(at int) *Reason {
	p, view := b.problem, &b.views[at]
	known := p.allocator.matcher.pool(view)
	parts, reason := p.partition(known, false)
	if reason != nil {
		return reason
	}
	l := layout{board: b, view: at, first: len(b.cells), partition: parts, claim: -1, counted: b.countersOf(at, known)}
	l.add(known.usable(view.Reach.AndNot(known.taken(view)), b.node))
	for c := range p.claims {
		if !p.hasAdmin || !hasAdmin(p.claims[c]) {
			continue
		}
		if parts, reason = p.partition(known, true); reason != nil {
			return reason
		}
		l = layout{board: b, view: at, first: len(b.cells), partition: parts, claim: c}
		l.add(known.usable(view.Reach, b.node))
	}
	return nil
}

// countersOf lays out what the counters of a view have left; nil if there are none.
func (b *Board) countersOf(at int, known *poolMatches) *counted {
	if known.counters == nil {
		return nil
	}
	c := known.counters.seen(&b.views[at])
	if b.counted == nil {
		b.counted = map[int]*counted{}
	}
	b.counted[at] = c
	return c
}

// layout makes cells of what can be had of a pool's parts.
type layout struct {
	*partition
	board   *Board
	view    int
	claim   int
	first   int // its first cell
	counted *counted
}

func (l *layout) add(devices model.Bits) {
	devices.Each(func(device int) bool {
		if l.devices.Has(device) {
			l.addDevice(device, &l.parts[l.of[device]])
		}
		return true
	})
}

func (l *layout) addDevice(device int, of *part) {
	b := l.board
	// Devices of one part are often published one behind the other.
	for i := len(b.cells) - 1; i >= l.first; i-- {
		if b.cells[i].part == of {
			b.cells[i].devices = append(b.cells[i].devices, device)
			return
		}
	}
	c := cell{part: of, view: l.view, claim: l.claim, matches: of.matches, need: of.need}
	if b.views[l.view].Devices[device].AllowMultipleAllocations {
		if c.share = b.shareOf(&b.views[l.view], device, l.claim >= 0); c.share == nil || c.share.room == 0 {
			return
		}
		b.shares = true
		c.matches = c.share.narrow(of.matches)
		if c.share.held {
			c.need = need{}
		}
	}
	if l.counted != nil && !l.counted.admits(&c.need) {
		return
	}
	c.devices = append(make([]int, 0, of.size), device)
	b.cells = append(b.cells, c)
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
		found := p.allocator.matcher.found(known, selection)
		// What has too little capacity for anybody does not match.
		matching := found.match.devices.And(view.Reach).And(found.open.capable)
		free := known.usable(matching.And(found.open.devices), b.node)
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
