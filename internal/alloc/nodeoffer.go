package alloc

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/allot-dev/allot/internal/model"
)

// NodeOffer is the set of devices that one node can offer for a Problem. It is valid until the
// State changes.
type NodeOffer struct {
	problem *Problem
	node    *model.NodeInfo
	views   []model.PoolView
	cells   []cell
	// by request and alternative: number of devices; -1 if the node cannot serve the alternative
	counts    [][]int
	best      Choice // best solution, if NodeOffer searched for one
	bestScore int64  // alternative score of best; see search.alternativeScore
	// search without decisions, for the first call of Search or Best; nil afterwards
	initial      *search
	hasShared    bool                      // some devices allow multiple allocations
	counters     map[int]*viewCounters     // by view; no entry if no device takes from counters
	descriptions map[int]map[string]string // by attribute; see descriptionsOf
}

// cell groups the interchangeable free devices of one kind. For admin access it includes devices in
// use.
type cell struct {
	*deviceKind
	view int // index in NodeOffer.views
	// claim whose requests with admin access can use the devices, in use or not; -1 for free
	// devices
	adminClaim int
	// those of the kind, minus selections for which a shared device has too little left
	matches model.Bits
	devices []int // indices in the pool, ascending
	// set for a device that allows multiple allocations; devices lists it once
	shared *sharedDevice
	// usage of the kind; empty for a shared device in use, because its first share has paid for it
	usage counterUsage
	used  int // number of devices, from the start, that the search uses
}

// NodeOffer returns the devices that the node offers, or the reason why they are not sufficient.
func (p *Problem) NodeOffer(node *model.NodeInfo) (*NodeOffer, *Reason) {
	offer := &NodeOffer{problem: p, node: node}
	for _, view := range p.state.Devices.Pools(node) {
		if !view.IsUsable() {
			continue
		}
		offer.views = append(offer.views, view)
		if reason := offer.addView(len(offer.views) - 1); reason != nil {
			return nil, reason
		}
	}
	offer.sortCells()
	offer.countAlternatives()
	s := newSearch(offer)
	if reason := s.infeasible(); reason != nil {
		return nil, reason
	}
	if p.isExact() && offer.counters == nil && !offer.hasShared {
		offer.initial = s
		return offer, nil
	}
	s.anySolution = true
	s.budget = &Budget{Limit: min(nodeSteps, p.budget.Limit-p.budget.Spent)}
	s.accept = func(c Choice) bool {
		offer.best, offer.bestScore = c, s.alternativeScore()
		return true
	}
	outcome := s.chooseAlternatives(0)
	p.budget.Spent += s.budget.Spent
	switch outcome {
	case Exhausted:
		return nil, offer.conflict()
	case OutOfBudget:
		if reason := impossibleClaim(offer); reason != nil {
			return nil, reason
		}
	}
	return offer, nil
}

// Availability is the result of FreeDevices.
type Availability int

// A node has enough devices or too few. A failing selector stops the allocation on all nodes.
const (
	Sufficient Availability = iota
	Insufficient
	SelectorFailed
)

// FreeDevices returns how many devices of the node a request could use, and whether they are
// sufficient. The answer is that of NodeOffer, without a reason and, for a Problem with one
// selection, without building an offer.
func (p *Problem) FreeDevices(node *model.NodeInfo) (int, Availability) {
	free, _, availability := p.FreeAndScore(node)
	return free, availability
}

// FreeAndScore returns the result of FreeDevices and the alternative score of the best solution on
// the node: higher means earlier alternatives. The score is 0 without alternatives.
func (p *Problem) FreeAndScore(node *model.NodeInfo) (free int, score int64, availability Availability) {
	if p.isSimple() && len(p.selections) == 1 {
		if free, availability, known := p.countSelection(node); known {
			return free, 0, availability
		}
	}
	offer, reason := p.NodeOffer(node)
	switch {
	case reason == nil:
		offer.EachDevice(func(_ model.PoolID, _, requests int) { free += requests })
		return free, offer.bestScore, Sufficient
	case reason.Kind == SelectorError:
		return 0, 0, SelectorFailed
	}
	return 0, 0, Insufficient
}

// CountFree returns how many devices of the node a request could use, whether or not they are
// sufficient. It returns false if the number does not decide what can be allocated.
func (p *Problem) CountFree(node *model.NodeInfo) (int, bool) {
	if !p.isSimple() || len(p.selections) != 1 {
		return 0, false
	}
	free, offer, known := p.countSelection(node)
	return free, known && offer != SelectorFailed
}

// CountKey returns a string that is equal for Problems with the same result of CountFree. That
// result changes for a node only with the node's own devices and with DeviceStore.SharedVersion.
// The key is "" if CountFree always returns false.
func (p *Problem) CountKey() string {
	if !p.isSimple() || len(p.selections) != 1 {
		return ""
	}
	return strconv.Itoa(p.MaxDevices()) + " " + p.selections[0].key
}

// CouldUse reports whether a request could use the device if it were free.
func (p *Problem) CouldUse(id model.DeviceID) bool {
	view, ok := p.state.Devices.View(id.PoolID())
	if !ok {
		return false
	}
	device, ok := view.Index(id.Device)
	if !ok {
		return false
	}
	matches := p.allocator.matcher.pool(&view)
	return slices.ContainsFunc(p.selections,
		func(s *selection) bool { return p.allocator.matcher.matchSelection(matches, s).free.Has(device) })
}

// countSelection computes FreeDevices for a Problem with one selection. It returns false if devices
// take from counters or allow multiple allocations, where counting is not sufficient.
func (p *Problem) countSelection(node *model.NodeInfo) (int, Availability, bool) {
	free, availability := 0, Sufficient
	views := p.state.Devices.Pools(node)
	for i := range views {
		view := &views[i]
		if !view.IsUsable() {
			continue
		}
		matches := p.allocator.matcher.pool(view)
		if matches.counters != nil || matches.multiAllocatable != nil || matches.skipsOperations != nil {
			return 0, Insufficient, false
		}
		match := p.allocator.matcher.matchSelection(matches, p.selections[0])
		if match.match.failed {
			availability = SelectorFailed
		}
		free += view.CountFree(match.free)
	}
	switch {
	case availability == SelectorFailed:
		return 0, SelectorFailed, true
	case free < p.MaxDevices():
		return free, Insufficient, true
	}
	return free, Sufficient, true
}

func (offer *NodeOffer) addView(at int) *Reason {
	p, view := offer.problem, &offer.views[at]
	matches := p.allocator.matcher.pool(view)
	parts, reason := p.kindsOf(matches, false)
	if reason != nil {
		return reason
	}
	l := cellBuilder{
		offer:       offer,
		view:        at,
		firstCell:   len(offer.cells),
		deviceKinds: parts,
		adminClaim:  -1,
		counters:    offer.addCounters(at, matches),
	}
	l.add(matches.usable(view.Reach.AndNot(matches.taken(view)), offer.node))
	for c := range p.claims {
		if !p.hasAdminAccess || !hasAdminAccess(p.claims[c]) {
			continue
		}
		if parts, reason = p.kindsOf(matches, true); reason != nil {
			return reason
		}
		l = cellBuilder{offer: offer, view: at, firstCell: len(offer.cells), deviceKinds: parts, adminClaim: c}
		l.add(matches.usable(view.Reach, offer.node))
	}
	return nil
}

// addCounters adds the counters of a view, if it has any.
func (offer *NodeOffer) addCounters(at int, matches *poolMatches) *viewCounters {
	if matches.counters == nil {
		return nil
	}
	c := matches.counters.forView(&offer.views[at])
	if offer.counters == nil {
		offer.counters = map[int]*viewCounters{}
	}
	offer.counters[at] = c
	return c
}

// cellBuilder turns the available devices of a pool into cells.
type cellBuilder struct {
	*deviceKinds
	offer      *NodeOffer
	view       int
	adminClaim int
	firstCell  int // index of the first cell of this builder
	counters   *viewCounters
}

func (b *cellBuilder) add(devices model.Bits) {
	devices.Each(func(device int) bool {
		if b.devices.Has(device) {
			b.addDevice(device, &b.kinds[b.kindOf[device]])
		}
		return true
	})
}

func (b *cellBuilder) addDevice(device int, of *deviceKind) {
	offer := b.offer
	// Devices of one kind are often published consecutively.
	for i := len(offer.cells) - 1; i >= b.firstCell; i-- {
		if offer.cells[i].deviceKind == of {
			offer.cells[i].devices = append(offer.cells[i].devices, device)
			return
		}
	}
	c := cell{deviceKind: of, view: b.view, adminClaim: b.adminClaim, matches: of.matches, usage: of.usage}
	if offer.views[b.view].Devices[device].AllowMultipleAllocations {
		if c.shared = offer.sharedDevice(&offer.views[b.view], device, b.adminClaim >= 0); c.shared == nil ||
			c.shared.maxShares == 0 {
			return
		}
		offer.hasShared = true
		c.matches = c.shared.withoutUnservable(of.matches)
		if c.shared.inUse {
			c.usage = counterUsage{}
		}
	}
	if b.counters != nil && !b.counters.admits(&c.usage) {
		return
	}
	c.devices = append(make([]int, 0, of.size), device)
	offer.cells = append(offer.cells, c)
}

// hasValue reports whether the devices have the value of the attribute.
func (c *cell) hasValue(attribute int, value string) bool {
	return slices.Contains(c.values[attribute], value)
}

// allows reports whether the eligibility permits devices of the cell, regardless of other
// assignments.
func (c *cell) allows(r *eligibility) bool {
	return c.matches.Has(r.selection) && r.admin == (c.adminClaim >= 0) && (!r.admin || c.adminClaim == r.adminClaim)
}

// sortCells puts cells to be used first in front, by, in order: devices that need no preparation,
// devices local to the node, the fullest pool, the smallest counter usage, the fewest matching
// requests.
func (offer *NodeOffer) sortCells() {
	free := make([]int, len(offer.views))
	for i := range offer.views {
		free[i] = offer.views[i].Reach.AndNot(offer.views[i].InUse()).Len()
	}
	remote := func(c *cell) int { return boolRank(!offer.isLocal(c)) }
	slices.SortStableFunc(offer.cells, func(x, y cell) int {
		return cmp.Or(
			cmp.Compare(boolRank(x.hasBindingConditions), boolRank(y.hasBindingConditions)),
			cmp.Compare(remote(&x), remote(&y)),
			cmp.Compare(free[x.view], free[y.view]),
			cmp.Compare(x.usage.weight, y.usage.weight),
			cmp.Compare(x.matches.Len(), y.matches.Len()),
		)
	})
}

// boolRank orders false before true.
func boolRank(last bool) int {
	if last {
		return 1
	}
	return 0
}

// isLocal reports whether the devices can be used only from this node.
func (offer *NodeOffer) isLocal(c *cell) bool {
	return offer.views[c.view].Devices[c.devices[0]].Scope.Node != ""
}

// countAlternatives computes the number of devices for each alternative.
func (offer *NodeOffer) countAlternatives() {
	offer.counts = make([][]int, len(offer.problem.requests))
	for w := range offer.problem.requests {
		alternatives := offer.problem.requests[w].alternatives
		offer.counts[w] = make([]int, len(alternatives))
		for o := range alternatives {
			if offer.counts[w][o] = alternatives[o].count; alternatives[o].spec.All {
				offer.counts[w][o] = offer.countAll(&alternatives[o])
			}
		}
	}
}

// countAll returns the number of matching devices, or -1 if there are none or not all can be
// allocated. In an incomplete pool the set of all devices is unknown.
func (offer *NodeOffer) countAll(o *alternative) int {
	p := offer.problem
	if len(offer.views) < len(p.state.Devices.Pools(offer.node)) {
		return -1
	}
	count := 0
	selection := p.selections[o.selection]
	for i := range offer.views {
		view := &offer.views[i]
		matches := p.allocator.matcher.pool(view)
		match := p.allocator.matcher.matchSelection(matches, selection)
		// Devices with too little capacity for the request, even when unused, do not match.
		matching := match.match.devices.And(view.Reach).And(match.available.capable)
		free := matches.usable(matching.And(match.available.devices), offer.node)
		if !selection.admin {
			free = free.AndNot(matches.taken(view))
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

// EachDevice calls each with every device that a request could use, by its index in its pool, and
// the number of requests that it could serve at most.
func (offer *NodeOffer) EachDevice(each func(pool model.PoolID, device, requests int)) {
	for i := range offer.cells {
		cell := &offer.cells[i]
		if cell.adminClaim >= 0 {
			continue
		}
		requests := 1
		if cell.shared != nil {
			requests = cell.available()
		}
		for _, device := range cell.devices {
			each(offer.views[cell.view].ID, device, requests)
		}
	}
}
