package alloc

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// want is one request of one claim.
type want struct {
	claim   int // index in Problem.claims
	request int // index in the claim's requests
	options []option
}

// option is one way to serve a want, the earlier the better. Most wants have one.
type option struct {
	asked     *model.Option
	name      string // for results
	class     *model.Class
	selection int // index in Problem.selections
	role      int // index in Problem.roles
	count     int // 0 for all devices that match; maxDevices + 1 for any number beyond what a claim can have
}

// role is what decides which devices an option can have. Slots of one role can be swapped within a claim.
type role struct {
	selection int
	claim     int // whose devices must not be had twice with admin access; -1 if that is no question
	admin     bool
	rules     []int // indices in Problem.rules
	// attributes are what each of the rules compares devices in this role by; indices in Problem.attributes.
	attributes []int
}

// attribute is what the rule compares devices in this role by, -1 if it does not.
func (r *role) attribute(rule int) int {
	if at := slices.Index(r.rules, rule); at >= 0 {
		return r.attributes[at]
	}
	return -1
}

// most is the most devices that the want can get; without bound, as many as a claim can have.
func (w *want) most() int {
	most := 0
	for i := range w.options {
		if count := w.options[i].count; count > 0 {
			most = max(most, count)
		} else {
			most = maxDevices
		}
	}
	return most
}

// least is the fewest devices that serve the want.
func (w *want) least() int {
	least := 0
	for i := range w.options {
		if count := max(1, w.options[i].count); i == 0 || count < least {
			least = count
		}
	}
	return least
}

// leastAsked is least without the bound of an option's count: the API allows any.
func (w *want) leastAsked() int64 {
	least := int64(0)
	for i := range w.options {
		if count := max(1, w.options[i].asked.Count); i == 0 || count < least {
			least = count
		}
	}
	return least
}

// addWant reads a request. It answers why that cannot be done.
func (p *Problem) addWant(c, r int) *Reason {
	request := &p.claims[c].Requests[r]
	w := want{claim: c, request: r}
	for o := range request.Options {
		asks := &request.Options[o]
		class, ok := p.state.Class(asks.Class)
		if !ok {
			return &Reason{Kind: ClassMissing, Asked: []Asked{askedBy(p.claims[c], request)}, Class: asks.Class}
		}
		if class.Unknown != "" {
			return &Reason{Kind: Unsupported, Asked: []Asked{askedBy(p.claims[c], request)}, Class: asks.Class, Field: class.Unknown}
		}
		option := option{asked: asks, name: request.ResultName(*asks), class: class, count: int(min(asks.Count, maxDevices+1))}
		option.selection = p.addSelection(p.allocator.matcher.selection(class, asks))
		option.role = p.addRole(c, request.Name, option.name, &option)
		w.options = append(w.options, option)
		p.hasAll = p.hasAll || asks.All
		p.hasAdmin = p.hasAdmin || asks.AdminAccess
	}
	p.hasOptions = p.hasOptions || len(w.options) > 1
	p.wants = append(p.wants, w)
	return nil
}

func (p *Problem) addSelection(selection *selection) int {
	for i, known := range p.selections {
		if known.key == selection.key {
			return i
		}
	}
	p.selections = append(p.selections, selection)
	return len(p.selections) - 1
}

func (p *Problem) addRole(c int, request, name string, o *option) int {
	r := role{selection: o.selection, claim: -1, admin: o.asked.AdminAccess}
	if hasAdmin(p.claims[c]) {
		r.claim = c
	}
	for i := range p.rules {
		if p.rules[i].claim == c && p.rules[i].covers(request, name) {
			r.rules = append(r.rules, i)
			r.attributes = append(r.attributes, p.addAttribute(o.attributeFor(p.rules[i].name, p.selections[o.selection])))
		}
	}
	for i := range p.roles {
		if p.roles[i].same(&r) {
			return i
		}
	}
	p.roles = append(p.roles, r)
	return len(p.roles) - 1
}

func (r *role) same(other *role) bool {
	return r.selection == other.selection && r.claim == other.claim && r.admin == other.admin &&
		slices.Equal(r.rules, other.rules) && slices.Equal(r.attributes, other.attributes)
}

// hasAdmin says whether some request of the claim wants admin access.
func hasAdmin(claim *model.Claim) bool {
	for r := range claim.Requests {
		for o := range claim.Requests[r].Options {
			if claim.Requests[r].Options[o].AdminAccess {
				return true
			}
		}
	}
	return false
}
