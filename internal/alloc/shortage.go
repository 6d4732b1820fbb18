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
		Expression: set.filter.lastSelector(), Message: set.message, CostLimited: set.costLimited,
	}
	if strings.Contains(set.message, "no such key") {
		r.Hint = p.allocator.matcher.program(r.Expression).reads.hint(pool, set.device)
	}
	for w := range p.requests {
		for o := range p.requests[w].alternatives {
			alternative := &p.requests[w].alternatives[o]
			if alternative.selection != selection || len(r.Requests) > 0 {
				continue
			}
			r.Requests = []RequestRef{p.requestRef(w)}
			if at < chosen.classSelectors {
				r.Class = alternative.class.Name
			} else {
				r.Selector -= chosen.classSelectors
			}
		}
	}
	return r
}

// shortage returns the reason for requests that together need too many devices.
func (f *flowBound) shortage(requests []int) *Reason {
	b, p := f.offer, f.offer.problem
	r := &Reason{Kind: Shortage}
	short := model.NewBits(len(p.selections))
	for _, w := range requests {
		r.Requests = append(r.Requests, p.requestRef(w))
		f.addWanted(r, short, w)
	}
	for i := range b.views {
		b.countMatching(r, short, i)
	}
	if r.Free >= r.Wanted {
		r.ExhaustedCounter = f.exhaustedCounter(requests, r.Wanted)
		if w, needed := f.exceededSum(); r.ExhaustedCounter == "" && w != nil {
			r.ExhaustedCounter = w.format(b, needed)
		}
	}
	for _, view := range p.state.Devices.Pools(b.node) {
		if usable, why := view.Usable(); !usable && (r.All || b.mayMatch(&view, short)) {
			r.Pools = append(r.Pools, why)
		}
	}
	if r.Match < r.Wanted && len(r.Pools) == 0 {
		r.SelectorMisses, r.SelectorsPassed = b.selectorMisses(short)
	}
	return r
}

// addWanted adds what a request wants: its selections, and at least how many devices.
func (f *flowBound) addWanted(r *Reason, short model.Bits, w int) {
	request := &f.offer.problem.requests[w]
	least := request.minCount()
	for o := range request.alternatives {
		if f.chosen[w] >= 0 && f.chosen[w] != o {
			continue
		}
		if f.chosen[w] == o {
			least = max(1, request.alternatives[o].count)
		}
		short.Set(request.alternatives[o].selection)
		r.All = r.All || request.alternatives[o].spec.All
	}
	r.Wanted += least
}

// mayMatch reports whether an unusable pool may have matching devices: a published device matches,
// or no device is published.
func (offer *NodeOffer) mayMatch(view *model.PoolView, short model.Bits) bool {
	matches := offer.problem.allocator.matcher.pool(view)
	concerns := len(view.Devices) == 0
	short.Each(func(selection int) bool {
		set := offer.problem.allocator.matcher.match(matches, offer.problem.selections[selection].filter)
		concerns = concerns || set.failed || set.devices.Len() > 0
		return !concerns
	})
	return concerns
}

// countMatching adds the devices of a pool that match short selections to a reason: those that are
// free, and why the others are not.
func (offer *NodeOffer) countMatching(r *Reason, short model.Bits, at int) {
	view := &offer.views[at]
	c := matchCount{
		offer: offer, reason: r, at: at, short: short, pool: offer.problem.allocator.matcher.pool(view),
		matched: model.NewBits(len(view.Devices)), open: model.NewBits(len(view.Devices)),
		closed: make([]string, len(view.Devices)),
	}
	r.Reachable += view.Reach.Len()
	short.Each(func(selection int) bool {
		c.add(offer.problem.selections[selection])
		return true
	})
	c.matched.And(view.Reach).Each(func(i int) bool {
		r.Match++
		c.classify(i)
		return true
	})
}

// A matchCount counts the devices of one pool that match short selections.
type matchCount struct {
	offer  *NodeOffer
	reason *Reason
	at     int // index of the pool in the offer's views
	short  model.Bits
	pool   *poolMatches

	matched model.Bits
	open    model.Bits // matched and available but for those that hold them
	closed  []string   // why a matched device that is not open is unavailable
	admin   bool       // a selection has admin access
}

// add adds the devices that match a selection.
func (c *matchCount) add(chosen *selection) {
	match := c.offer.problem.allocator.matcher.matchSelection(c.pool, chosen)
	matching, available := match.match.devices, match.available
	if c.reason.All {
		matching = matching.And(available.capable)
	}
	c.matched.Or(matching)
	c.admin = c.admin || chosen.admin
	c.open.Or(matching.And(available.devices))
	matching.AndNot(available.devices).Each(func(i int) bool {
		c.closed[i] = available.reasons[i]
		return true
	})
}

// classify counts a matched device as free or shared, or notes what keeps it.
func (c *matchCount) classify(device int) {
	r, view := c.reason, &c.offer.views[c.at]
	if why, unavailable := c.unavailable(device); unavailable {
		c.addUnavailable(device, why)
		return
	}
	switch holders := view.Holders(device); {
	case c.pool.multiAllocatable != nil && c.pool.multiAllocatable.Has(device):
		if !c.offer.hasShareFor(c.at, device, c.short) {
			c.addUnavailable(device, c.offer.missingCapacity(view, device, c.short))
			return
		}
		r.Free++
		r.Shares = true
	case len(holders) == 0 || c.admin:
		r.Free++
	case c.offer.problem.isTrialClaim != nil && c.offer.problem.isTrialClaim(holders[0].Claim):
		if len(r.TrialDevices) < maxListed {
			r.TrialDevices = append(r.TrialDevices, view.DeviceID(device))
		}
	case len(r.Holders) < maxListed:
		r.Holders = append(r.Holders, Holder{Device: view.DeviceID(device), By: holders[0]})
	}
}

// unavailable reports whether something else than a holder keeps a matched device from being
// allocated, and what.
func (c *matchCount) unavailable(device int) (string, bool) {
	skips := c.pool.skipsOperations
	if skips != nil && skips.Has(device) && !c.offer.node.Node.SkipsOperations {
		return "needs a node that declares the feature " + model.OptionalNodeOperations, true
	}
	if !c.open.Has(device) {
		return c.closed[device], true
	}
	counted := c.offer.counters[c.at]
	if counted == nil || c.admin || len(c.offer.views[c.at].Holders(device)) > 0 {
		return "", false
	}
	why := counted.unavailableReason(device)
	if why != "" && c.offer.usedInTrial(c.at, device) {
		return why + " beside the group's other pods", true
	}
	return why, why != ""
}

func (c *matchCount) addUnavailable(device int, why string) {
	if len(c.reason.Unavailable) < maxListed {
		id := c.offer.views[c.at].DeviceID(device)
		c.reason.Unavailable = append(c.reason.Unavailable, Unavailable{Device: id, Reason: why})
	}
}

// usedInTrial reports whether claims of the same trial take from the counter that is too small for
// a device.
func (offer *NodeOffer) usedInTrial(at, device int) bool {
	counted, view, found := offer.counters[at], &offer.views[at], false
	counter := counted.usages[device].shortCounter(counted.remaining)
	if offer.problem.isTrialClaim == nil || counter < 0 {
		return false
	}
	view.InUse().Each(func(taken int) bool {
		holders := view.Holders(taken)
		found = counted.usages[taken].amountOf(counter) > 0 && len(holders) > 0 &&
			offer.problem.isTrialClaim(holders[0].Claim)
		return !found
	})
	return found
}

// selectorMisses returns the selectors that devices do not match, each once, and the largest number
// of leading selectors matched by a device.
func (offer *NodeOffer) selectorMisses(short model.Bits) (list []SelectorMiss, passed int) {
	short.Each(func(selection int) bool {
		chosen, class := offer.problem.selections[selection], offer.problem.classOf(selection)
		before := offer.countMatches(chosen.filter.prefix(0))
		for n, expression := range chosen.filter.selectors {
			matching := offer.countMatches(chosen.filter.prefix(n + 1))
			drop := SelectorMiss{Expression: expression, Missed: before - matching, Candidates: before}
			if n < chosen.classSelectors {
				drop.Class = class
			}
			if drop.Missed > 0 && !slices.ContainsFunc(list, drop.isSame) {
				drop.Devices = missed(offer, chosen.filter, n)
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

// missed returns the first devices that match all selectors before the n-th one, and not that.
func missed(offer *NodeOffer, f *filter, n int) []model.DeviceID {
	matcher := offer.problem.allocator.matcher
	var list []model.DeviceID
	for i := range offer.views {
		view, matches := &offer.views[i], matcher.pool(&offer.views[i])
		before := matcher.match(matches, f.prefix(n)).devices.And(view.Reach)
		before.AndNot(matcher.match(matches, f.prefix(n+1)).devices).Each(func(device int) bool {
			list = append(list, view.DeviceID(device))
			return len(list) < maxListed
		})
		if len(list) == maxListed {
			break
		}
	}
	return list
}

// countMatches returns the number of devices that match the filter.
func (offer *NodeOffer) countMatches(f *filter) int {
	n := 0
	for i := range offer.views {
		matches := offer.problem.allocator.matcher.pool(&offer.views[i])
		n += offer.problem.allocator.matcher.match(matches, f).devices.And(offer.views[i].Reach).Len()
	}
	return n
}

// classOf returns the class of a selection.
func (p *Problem) classOf(selection int) string {
	for w := range p.requests {
		for o := range p.requests[w].alternatives {
			if alternative := &p.requests[w].alternatives[o]; alternative.selection == selection {
				return alternative.class.Name
			}
		}
	}
	return ""
}

// hasShareFor reports whether a shared device has a share left for one of the selections.
func (offer *NodeOffer) hasShareFor(view, device int, short model.Bits) bool {
	for c := range offer.cells {
		cell := &offer.cells[c]
		if cell.view != view || cell.shared == nil || cell.devices[0] != device {
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
