package alloc

import (
	"cmp"
	"fmt"
	"slices"
)

const maxListed = 4 // devices of one value

// conflict says which constraints stand in the way, or that alternatives do.
func (b *Board) conflict() *Reason {
	p := b.problem
	r := &Reason{Kind: Conflict}
	var alone []RuleMiss
	claims := map[int]bool{}
	for i := range p.rules {
		miss := b.missOf(i)
		if miss.Wanted == 0 {
			continue
		}
		r.Rules = append(r.Rules, miss)
		if miss.Best < miss.Wanted {
			alone = append(alone, miss)
			claims[p.rules[i].claim] = true
		}
	}
	if len(alone) > 0 {
		r.Rules = alone
	}
	if len(r.Rules) == 0 {
		return b.lastTry()
	}
	for w := range p.wants {
		if len(alone) == 0 || claims[p.wants[w].claim] {
			r.Asked = append(r.Asked, p.asked(w))
		}
	}
	if len(alone) == 0 && b.counted != nil {
		r.Scarce = b.scarceUnderRules()
	}
	for i := range r.Rules {
		r.Wanted, r.Free = max(r.Wanted, r.Rules[i].Wanted), max(r.Free, r.Rules[i].Best)
	}
	return r
}

// scarceUnderRules names a counter that has too little left for all devices that a matchAttribute covers, whichever value they
// have in common; "" if there is none.
func (b *Board) scarceUnderRules() string {
	p := b.problem
	for r := range p.rules {
		s := newSearch(b)
		if p.rules[r].distinct || s.covered(r) == 0 {
			continue
		}
		var wants []int
		for w := range p.wants {
			if o := s.chosen[w]; o >= 0 && slices.Contains(p.roles[p.wants[w].options[o].role].rules, r) {
				wants = append(wants, w)
			}
		}
		text := ""
		for i, value := range s.values(r) {
			s.value[r] = value
			scarce := s.scarce(wants, s.covered(r))
			if s.value[r] = ""; scarce == "" {
				text = ""
				break
			}
			if i == 0 {
				text = fmt.Sprintf("where %s is %s, %s", p.rules[r].name, value, scarce)
			}
		}
		if text != "" {
			return text
		}
	}
	return ""
}

// lastTry says what the last alternatives of all requests lack.
func (b *Board) lastTry() *Reason {
	p := b.problem
	s := newSearch(b)
	for w := range p.wants {
		s.chosen[w] = len(p.wants[w].options) - 1
	}
	wants := s.refuted()
	reason := &Reason{}
	switch {
	case wants != nil:
		reason = s.shortage(wants)
	case b.counted != nil || b.shares:
		for w := range p.wants {
			wants = append(wants, w)
		}
		reason = s.shortage(wants)
	default:
		for w := range p.wants {
			reason.Asked = append(reason.Asked, p.asked(w))
		}
	}
	if !s.configurable() {
		reason.Config = slices.Max(s.configCounts())
	}
	if reason.Kind == "" || p.hasOptions {
		reason.Kind = Conflict
	}
	return reason
}

// missOf counts what could be had under a rule if nothing else mattered.
func (b *Board) missOf(i int) RuleMiss {
	p := b.problem
	rule := &p.rules[i]
	m := RuleMiss{Attribute: string(rule.name), Distinct: rule.distinct}
	var roles []*role
	for w := range p.wants {
		if least, covered := b.leastUnder(w, i); covered != nil {
			m.Wanted += least
			roles = append(roles, covered...)
		}
	}
	room := map[string]int{}
	for c := range b.cells {
		cell := &b.cells[c]
		var values []string
		allowed := false
		for _, role := range roles {
			if cell.allows(role) {
				allowed = true
				values = addNew(values, cell.values[role.attribute(i)])
			}
		}
		for _, value := range values {
			room[value] += cell.room()
			m.list(value, b, cell)
		}
		if allowed && len(values) == 0 {
			m.list("not set", b, cell)
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
	if len(m.Groups) > maxHeld {
		m.Groups = m.Groups[:maxHeld]
	}
	return m
}

// leastUnder is how many devices of the want the rule covers at least, and in which roles.
func (b *Board) leastUnder(w, rule int) (int, []*role) {
	p := b.problem
	least := maxDevices
	var roles []*role
	for o := range p.wants[w].options {
		role := &p.roles[p.wants[w].options[o].role]
		switch covered := slices.Contains(role.rules, rule); {
		case !covered:
			least = 0
		case b.counts[w][o] >= 0:
			least = min(least, b.counts[w][o])
			roles = append(roles, role)
		}
	}
	return least, roles
}

func (m *RuleMiss) list(value string, b *Board, c *cell) {
	at := slices.IndexFunc(m.Groups, func(g ValueGroup) bool { return g.Value == value })
	if at < 0 {
		at = len(m.Groups)
		m.Groups = append(m.Groups, ValueGroup{Value: value})
	}
	group := &m.Groups[at]
	for _, device := range c.devices {
		if len(group.Devices) < maxListed {
			group.Devices = append(group.Devices, b.views[c.view].DeviceID(device))
		} else {
			group.More++
		}
	}
}
