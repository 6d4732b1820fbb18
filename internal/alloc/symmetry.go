package alloc

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// To find out whether there is any solution, of those that differ only in which of several alike claims has which devices,
// or in which of several alike values (GPUs) are used, one is enough. Alike claims settle on values in rising order,
// and of alike values the first that is not used stands for all that are not: both hold for the solution that comes
// first in the order in which a search tries values, so that it is found if there is any.

// alike reports whether a claim asks for the same as the claim before it.
func (p *Problem) alike(claim int) bool {
	if p.same == nil {
		p.same = make([]bool, len(p.claims))
		for c := 1; c < len(p.claims); c++ {
			a, b := p.claims[c-1], p.claims[c]
			p.same[c] = reflect.DeepEqual(a.Requests, b.Requests) && reflect.DeepEqual(a.Constraints, b.Constraints)
		}
	}
	return p.same[claim]
}

// firstValue returns the first of its values that a rule has to try.
func (s *search) firstValue(r int) int {
	p := s.board.problem
	claim := p.rules[r].claim
	if !s.any || claim == 0 || !p.alike(claim) || s.firstRule(claim) != r {
		return 0
	}
	before := s.firstRule(claim - 1)
	if before < 0 || p.rules[before].name != p.rules[r].name || s.value[before] == "" {
		return 0
	}
	if !s.sameOptions(claim-1, claim) {
		return 0
	}
	return max(0, slices.Index(s.tried[r], s.value[before]))
}

// sameOptions reports whether the requests of two claims that are alike are served by the same alternatives.
func (s *search) sameOptions(a, b int) bool {
	theirs := s.wantsOf(a)
	for i, w := range s.wantsOf(b) {
		if s.chosen[w] != s.chosen[theirs[i]] {
			return false
		}
	}
	return true
}

// mirrored reports whether a value that the rule could settle on is like one before it, and neither is used.
func (s *search) mirrored(r, at int) bool {
	if !s.any || at == 0 {
		return false
	}
	attribute := s.attributeOf(r)
	value := s.tried[r][at]
	if attribute < 0 || slices.Contains(s.value, value) {
		return false
	}
	look := s.board.looks(attribute)
	return slices.ContainsFunc(s.tried[r][:at], func(other string) bool {
		return look[other] == look[value] && !slices.Contains(s.value, other)
	})
}

// attributeOf returns the attribute that a rule compares all its devices by, -1 if there is more than one.
func (s *search) attributeOf(r int) int {
	p, attribute := s.board.problem, -1
	for w := range p.wants {
		if s.chosen[w] < 0 {
			return -1
		}
		at := p.roles[p.wants[w].options[s.chosen[w]].role].attribute(r)
		if at >= 0 && attribute >= 0 && at != attribute {
			return -1
		}
		attribute = max(attribute, at)
	}
	return attribute
}

// looks describes the values of an attribute. Those with equal descriptions can be swapped: their cells are alike, one by
// one, and what these take from counters is either the same or what no cell without the value takes from.
func (b *Board) looks(attribute int) map[string]string {
	if have, ok := b.looked[attribute]; ok {
		return have
	}
	owner := b.setOwners(attribute)
	texts, sets := map[string]*strings.Builder{}, map[string]map[string]int{}
	for c := range b.cells {
		cell := &b.cells[c]
		for _, value := range cell.values[attribute] {
			if texts[value] == nil {
				texts[value], sets[value] = &strings.Builder{}, map[string]int{}
			}
			text := texts[value]
			if len(cell.values[attribute]) > 1 || cell.share != nil || cell.claim >= 0 || len(cell.need.groups) > 0 {
				text.WriteString("only " + value)
				continue
			}
			fmt.Fprint(text, cell.view, cell.matches, len(cell.devices), cell.scope, cell.trait, cell.waits, " ")
			for i, others := range cell.values {
				if i != attribute {
					fmt.Fprintf(text, "%q", others)
				}
			}
			for _, a := range cell.need.amounts {
				table := b.counted[cell.view]
				set, name, _ := strings.Cut(table.names[a.counter], "/")
				if id := fmt.Sprint(cell.view, set); owner[id] == value {
					if _, known := sets[value][id]; !known {
						sets[value][id] = len(sets[value])
					}
					set = fmt.Sprint("own ", sets[value][id])
				}
				fmt.Fprintf(text, " %s/%s %q %d of %d", set, name, table.units[a.counter].Key(), a.value, table.left[a.counter])
			}
			text.WriteByte('\n')
		}
	}
	described := map[string]string{}
	for value, text := range texts {
		described[value] = text.String()
	}
	if b.looked == nil {
		b.looked = map[int]map[string]string{}
	}
	b.looked[attribute] = described
	return described
}

// setOwners returns for counter sets the value that all cells which take from the set have, "" if there is none.
func (b *Board) setOwners(attribute int) map[string]string {
	owner := map[string]string{}
	for c := range b.cells {
		cell := &b.cells[c]
		value := ""
		if values := cell.values[attribute]; len(values) == 1 {
			value = values[0]
		}
		for _, a := range cell.need.amounts {
			id := fmt.Sprint(cell.view, b.counted[cell.view].set(a.counter))
			if have, known := owner[id]; known && have != value {
				value = ""
			}
			owner[id] = value
		}
	}
	return owner
}

// Likeness is equal for boards on which the Problem can be solved alike, and so can any number of its copies; it is "" if
// that is not known.
func (b *Board) Likeness() string {
	if b.shares || b.problem.hasAdmin {
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
	for c := range b.cells {
		cell := &b.cells[c]
		fmt.Fprint(&text, number("view", cell.view), cell.matches, len(cell.devices), cell.waits, b.isLocal(cell))
		for i, values := range cell.values {
			for _, value := range values {
				fmt.Fprintf(&text, " %d=%d", i, number(i, value))
			}
		}
		for _, a := range cell.need.amounts {
			table := b.counted[cell.view]
			name := number(fmt.Sprint("counter ", cell.view), a.counter)
			fmt.Fprintf(&text, " %d in %d: %q %d of %d", name, number(fmt.Sprint("set ", cell.view), table.set(a.counter)), table.units[a.counter].Key(), a.value, table.left[a.counter])
		}
		if len(cell.need.groups) > 0 {
			return ""
		}
		text.WriteByte('\n')
	}
	return fmt.Sprint(b.counts) + text.String()
}

// Counted reports whether counting devices says all of what the board offers.
func (b *Board) Counted() bool { return b.problem.exact() && b.counted == nil && !b.shares }
