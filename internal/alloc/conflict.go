package alloc

import (
	"cmp"
	"fmt"
	"slices"
)

// maxListedPerValue limits the devices that a message lists for one attribute value.
const maxListedPerValue = 4

// conflict returns the reason why constraints or alternatives cannot be satisfied.
func (offer *NodeOffer) conflict() *Reason {
	p := offer.problem
	r := &Reason{Kind: Conflict}
	var alone []ConstraintMiss
	claims := map[int]bool{}
	for i := range p.constraints {
		miss := offer.missOf(i)
		if miss.Wanted == 0 {
			continue
		}
		r.Constraints = append(r.Constraints, miss)
		if miss.Best < miss.Wanted {
			alone = append(alone, miss)
			claims[p.constraints[i].claim] = true
		}
	}
	if len(alone) > 0 {
		r.Constraints = alone
	}
	if len(r.Constraints) == 0 {
		return offer.lastAlternatives()
	}
	for w := range p.requests {
		if len(alone) == 0 || claims[p.requests[w].claim] {
			r.Requests = append(r.Requests, p.requestRef(w))
		}
	}
	if len(alone) == 0 && offer.counters != nil {
		r.ExhaustedCounter = offer.exhaustedUnderConstraints()
	}
	for i := range r.Constraints {
		r.Wanted, r.Free = max(r.Wanted, r.Constraints[i].Wanted), max(r.Free, r.Constraints[i].Best)
	}
	return r
}

// exhaustedUnderConstraints describes a counter with too little left for the devices covered by a
// matchAttribute, whichever value they have in common. It returns "" if there is none.
func (offer *NodeOffer) exhaustedUnderConstraints() string {
	p := offer.problem
	for r := range p.constraints {
		s := newSearch(offer)
		if p.constraints[r].distinct || s.coveredCount(r) == 0 {
			continue
		}
		var requests []int
		for w := range p.requests {
			if o := s.chosen[w]; o >= 0 &&
				slices.Contains(p.eligibilities[p.requests[w].alternatives[o].eligibility].constraints, r) {
				requests = append(requests, w)
			}
		}
		text := ""
		for i, value := range s.candidateValues(r) {
			s.settled[r] = value
			scarce := s.exhaustedCounter(requests, s.coveredCount(r))
			if s.settled[r] = ""; scarce == "" {
				text = ""
				break
			}
			if i == 0 {
				text = fmt.Sprintf("where %s is %s, %s", p.constraints[r].name, value, scarce)
			}
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// lastAlternatives returns why the last alternatives of all requests cannot be allocated.
func (offer *NodeOffer) lastAlternatives() *Reason {
	p := offer.problem
	s := newSearch(offer)
	for w := range p.requests {
		s.chosen[w] = len(p.requests[w].alternatives) - 1
	}
	requests := s.infeasibleRequests()
	reason := &Reason{}
	switch {
	case requests != nil:
		reason = s.shortage(requests)
	case offer.counters != nil || offer.hasShared:
		for w := range p.requests {
			requests = append(requests, w)
		}
		reason = s.shortage(requests)
	default:
		for w := range p.requests {
			reason.Requests = append(reason.Requests, p.requestRef(w))
		}
	}
	if !s.configFits() {
		reason.ConfigEntries = slices.Max(s.configCounts())
	}
	if reason.Kind == "" || p.hasAlternatives {
		reason.Kind = Conflict
	}
	return reason
}

// missOf returns how many devices would satisfy a constraint if nothing else mattered.
func (offer *NodeOffer) missOf(i int) ConstraintMiss {
	p := offer.problem
	constraint := &p.constraints[i]
	m := ConstraintMiss{Attribute: string(constraint.name), Distinct: constraint.distinct}
	var eligibilities []*eligibility
	for w := range p.requests {
		if least, covered := offer.minCovered(w, i); covered != nil {
			m.Wanted += least
			eligibilities = append(eligibilities, covered...)
		}
	}
	room := map[string]int{}
	for c := range offer.cells {
		cell := &offer.cells[c]
		var values []string
		allowed := false
		for _, eligibility := range eligibilities {
			if cell.allows(eligibility) {
				allowed = true
				values = appendMissing(values, cell.values[eligibility.attributeOf(i)])
			}
		}
		for _, value := range values {
			room[value] += cell.available()
			m.addDevices(value, offer, cell)
		}
		if allowed && len(values) == 0 {
			m.addDevices("not set", offer, cell)
		}
	}
	for _, n := range room {
		m.Best = max(m.Best, n)
	}
	if m.Distinct {
		m.Best = len(room)
	}
	slices.SortStableFunc(m.Groups, func(x, y ValueGroup) int {
		return cmp.Or(-cmp.Compare(len(x.Devices)+x.More, len(y.Devices)+y.More), cmp.Compare(x.Value, y.Value))
	})
	if len(m.Groups) > maxListed {
		m.Groups = m.Groups[:maxListed]
	}
	return m
}

// minCovered returns the minimum number of devices of the request that the constraint covers, and
// the eligibilities concerned.
func (offer *NodeOffer) minCovered(w, constraint int) (int, []*eligibility) {
	p := offer.problem
	least := maxDevices
	var eligibilities []*eligibility
	for o := range p.requests[w].alternatives {
		eligibility := &p.eligibilities[p.requests[w].alternatives[o].eligibility]
		switch covered := slices.Contains(eligibility.constraints, constraint); {
		case !covered:
			least = 0
		case offer.counts[w][o] >= 0:
			least = min(least, offer.counts[w][o])
			eligibilities = append(eligibilities, eligibility)
		}
	}
	return least, eligibilities
}

func (m *ConstraintMiss) addDevices(value string, offer *NodeOffer, c *cell) {
	at := slices.IndexFunc(m.Groups, func(g ValueGroup) bool { return g.Value == value })
	if at < 0 {
		at = len(m.Groups)
		m.Groups = append(m.Groups, ValueGroup{Value: value})
	}
	group := &m.Groups[at]
	for _, device := range c.devices {
		if len(group.Devices) < maxListedPerValue {
			group.Devices = append(group.Devices, offer.views[c.view].DeviceID(device))
		} else {
			group.More++
		}
	}
}
