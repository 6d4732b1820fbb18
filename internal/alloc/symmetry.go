package alloc

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// In a search for any solution, solutions are equivalent if they differ only in which of several
// equal claims has which devices, or in which of several equivalent values (GPUs) are used. One of
// them is enough: equal claims settle on values in ascending order, and only the first of the
// equivalent unused values is tried. Both conditions hold for the solution that is first in search
// order, so that it is found if any exists.

// isLikePrevious reports whether a claim has the same requests and constraints as the claim before
// it.
func (p *Problem) isLikePrevious(claim int) bool {
	if p.likePrevious == nil {
		p.likePrevious = make([]bool, len(p.claims))
		for c := 1; c < len(p.claims); c++ {
			a, b := p.claims[c-1], p.claims[c]
			p.likePrevious[c] = reflect.DeepEqual(a.Requests, b.Requests) && reflect.DeepEqual(a.Constraints, b.Constraints)
		}
	}
	return p.likePrevious[claim]
}

// firstValue returns the index of the first value to try for a constraint.
func (s *search) firstValue(r int) int {
	p := s.offer.problem
	claim := p.constraints[r].claim
	if !s.anySolution || claim == 0 || !p.isLikePrevious(claim) || s.firstMatchConstraint(claim) != r {
		return 0
	}
	before := s.firstMatchConstraint(claim - 1)
	if before < 0 || p.constraints[before].name != p.constraints[r].name || s.settled[before] == "" {
		return 0
	}
	if !s.sameAlternatives(claim-1, claim) {
		return 0
	}
	return max(0, slices.Index(s.valueOrder[r], s.settled[before]))
}

// sameAlternatives reports whether two equal claims have the same chosen alternatives.
func (d *decisions) sameAlternatives(a, b int) bool {
	theirs := d.requestsOf(a)
	for i, w := range d.requestsOf(b) {
		if d.chosen[w] != d.chosen[theirs[i]] {
			return false
		}
	}
	return true
}

// isEquivalentValue reports whether a candidate value is equivalent to an earlier one and both are
// unused.
func (s *search) isEquivalentValue(r, at int) bool {
	if !s.anySolution || at == 0 {
		return false
	}
	attribute := s.attributeOf(r)
	value := s.valueOrder[r][at]
	if attribute < 0 || slices.Contains(s.settled, value) || !s.isComparedAlone(attribute) {
		return false
	}
	look := s.offer.descriptionsOf(attribute)
	return slices.ContainsFunc(s.valueOrder[r][:at], func(other string) bool {
		return look[other] == look[value] && !slices.Contains(s.settled, other)
	})
}

// attributeOf returns the attribute that a constraint compares for all its devices, or -1 if there
// are several.
func (d *decisions) attributeOf(r int) int {
	p, attribute := d.offer.problem, -1
	for w := range p.requests {
		if d.chosen[w] < 0 {
			return -1
		}
		at := p.eligibilities[p.requests[w].alternatives[d.chosen[w]].eligibility].attributeOf(r)
		if at >= 0 && attribute >= 0 && at != attribute {
			return -1
		}
		attribute = max(attribute, at)
	}
	return attribute
}

// isComparedAlone reports whether no constraint compares an attribute with another one, as it does
// if a request derives it. Otherwise it matters which value is which. All alternatives are chosen.
func (d *decisions) isComparedAlone(attribute int) bool {
	p := d.offer.problem
	for w := range p.requests {
		eligibility := &p.eligibilities[p.requests[w].alternatives[d.chosen[w]].eligibility]
		for i, r := range eligibility.constraints {
			if eligibility.attributes[i] == attribute && d.attributeOf(r) != attribute {
				return false
			}
		}
	}
	return true
}

// descriptionsOf returns a description of each value of an attribute. Values with equal
// descriptions can be swapped: their cells correspond to each other, and take from the same
// counters or from counters that only cells with the value take from.
func (offer *NodeOffer) descriptionsOf(attribute int) map[string]string {
	if description, ok := offer.descriptions[attribute]; ok {
		return description
	}
	owner := offer.setOwners(attribute)
	values := map[string]*valueDescription{}
	for c := range offer.cells {
		cell := &offer.cells[c]
		for _, value := range cell.values[attribute] {
			d := values[value]
			if d == nil {
				d = &valueDescription{value: value, ownSets: map[string]int{}}
				values[value] = d
			}
			if len(cell.values[attribute]) > 1 || !cell.isInterchangeable() {
				d.text.WriteString("only " + value)
				continue
			}
			d.addCell(cell, attribute)
			d.addCounters(cell, offer.counters, owner)
		}
	}
	described := map[string]string{}
	for value, d := range values {
		described[value] = d.text.String()
	}
	if offer.descriptions == nil {
		offer.descriptions = map[int]map[string]string{}
	}
	offer.descriptions[attribute] = described
	return described
}

// isInterchangeable reports whether another cell can stand for the cell.
func (c *cell) isInterchangeable() bool {
	return c.shared == nil && c.adminClaim < 0 && len(c.usage.groups) == 0
}

// valueDescription is the description of one value of an attribute, which does not name the value.
type valueDescription struct {
	value   string
	text    strings.Builder
	ownSets map[string]int // number of each counter set that only cells with the value take from
}

// addCell adds what a cell with the value has in addition to the attribute.
func (d *valueDescription) addCell(cell *cell, attribute int) {
	fmt.Fprint(&d.text, cell.view, cell.matches, len(cell.devices), cell.scope, cell.trait, cell.hasBindingConditions, " ")
	for i, others := range cell.values {
		if i != attribute {
			fmt.Fprintf(&d.text, "%q", others)
		}
	}
}

// addCounters adds what a cell with the value takes from counters. Sets of the value's own are
// numbered, so that they correspond to those of another value.
func (d *valueDescription) addCounters(cell *cell, counters map[int]*viewCounters, owner map[string]string) {
	for _, a := range cell.usage.amounts {
		table := counters[cell.view]
		set, name, _ := strings.Cut(table.names[a.counter], "/")
		if id := fmt.Sprint(cell.view, set); owner[id] == d.value {
			if _, known := d.ownSets[id]; !known {
				d.ownSets[id] = len(d.ownSets)
			}
			set = fmt.Sprint("own ", d.ownSets[id])
		}
		fmt.Fprintf(&d.text, " %s/%s %q %d of %d", set, name, table.units[a.counter].Key(), a.value,
			table.remaining[a.counter])
	}
	d.text.WriteByte('\n')
}

// setOwners returns, by counter set, the value that all cells taking from the set have, or "".
func (offer *NodeOffer) setOwners(attribute int) map[string]string {
	owner := map[string]string{}
	for c := range offer.cells {
		cell := &offer.cells[c]
		value := ""
		if values := cell.values[attribute]; len(values) == 1 {
			value = values[0]
		}
		for _, a := range cell.usage.amounts {
			id := fmt.Sprint(cell.view, offer.counters[cell.view].setOf(a.counter))
			if have, known := owner[id]; known && have != value {
				value = ""
			}
			owner[id] = value
		}
	}
	return owner
}

// EquivalenceKey returns a string that is equal for nodes on which the Problem, and any number of
// its copies, has the same solutions. It returns "" if that is unknown.
func (offer *NodeOffer) EquivalenceKey() string {
	if offer.hasShared || offer.problem.hasAdminAccess {
		return ""
	}
	var text strings.Builder
	names := map[string]int{}
	number := func(kind any, name any) int {
		id := fmt.Sprint(kind, " ", name)
		at, known := names[id]
		if !known {
			at = len(names)
			names[id] = at
		}
		return at
	}
	for c := range offer.cells {
		cell := &offer.cells[c]
		fmt.Fprint(&text, number("view", cell.view), cell.matches, len(cell.devices), cell.hasBindingConditions,
			offer.isLocal(cell))
		for i, values := range cell.values {
			for _, value := range values {
				// Constraints may compare values of different attributes.
				fmt.Fprintf(&text, " %d=%d", i, number("value", value))
			}
		}
		for _, a := range cell.usage.amounts {
			table := offer.counters[cell.view]
			name := number(fmt.Sprint("counter ", cell.view), a.counter)
			fmt.Fprintf(&text, " %d in %d: %q %d of %d", name, number(fmt.Sprint("set ", cell.view), table.setOf(a.counter)),
				table.units[a.counter].Key(), a.value, table.remaining[a.counter])
		}
		if len(cell.usage.groups) > 0 {
			return ""
		}
		text.WriteByte('\n')
	}
	return fmt.Sprint(offer.counts) + text.String()
}

// IsExact reports whether the number of free devices decides what the node can serve.
func (offer *NodeOffer) IsExact() bool {
	return offer.problem.isExact() && offer.counters == nil && !offer.hasShared
}
