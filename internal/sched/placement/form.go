package placement

import (
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
)

// form returns what the class requests devices for on the node.
func (c *podClass) form(info *model.NodeInfo) *claimForm {
	e := c.extended
	if e == nil {
		return &c.plain
	}
	e.lacks = e.lacks[:0]
	for i := range e.resources {
		lacks := byte('0')
		if info.Node.Allocatable[e.resources[i].name] <= 0 {
			lacks = '1'
		}
		e.lacks = append(e.lacks, lacks)
	}
	f, ok := e.forms[string(e.lacks)]
	if !ok {
		f = c.newForm(string(e.lacks))
		e.forms[string(e.lacks)] = f
	}
	return f
}

// newForm returns the form for nodes that lack the resources with a '1' in lacks.
func (c *podClass) newForm(lacks string) *claimForm {
	f, first := &claimForm{}, c.members[0]
	for i, offered := range c.extended.resources {
		if lacks[i] == '1' {
			requests, mappings := first.pod.Shape.Devices(offered.name, offered.class)
			f.requests, f.mappings = append(f.requests, requests...), append(f.mappings, mappings...)
		}
	}
	slices.SortFunc(f.requests, func(a, b model.Request) int { return strings.Compare(a.Name, b.Name) })
	switch {
	case first.createdClaim != nil:
		f.unfit = !first.createdClaim.HasSameRequests(first.newClaim(f))
	case len(f.requests) == 0:
		f.unfit = first.pod.Mapped
	}
	if claims := first.claims(f); len(claims) > 0 {
		f.problem, f.reason = c.scope.alloc.Prepare(c.scope.state, claims, true)
	}
	return f
}

// prepareForms sets the forms of the class's suitable nodes. It returns why no node has one with
// which the class can be placed, or nil.
func (c *podClass) prepareForms() *alloc.Reason {
	for _, info := range c.suitableNodes().Nodes {
		c.form(info)
	}
	var reason *alloc.Reason
	for _, f := range c.forms() {
		if f.reason == nil {
			return nil
		}
		reason = f.reason
	}
	return reason
}

// forms returns the forms of the class in a stable order.
func (c *podClass) forms() []*claimForm {
	if c.extended == nil {
		return []*claimForm{&c.plain}
	}
	keys := make([]string, 0, len(c.extended.forms))
	for key := range c.extended.forms {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	forms := make([]*claimForm, len(keys))
	for i, key := range keys {
		forms[i] = c.extended.forms[key]
	}
	return forms
}

// needsDevices reports whether members need devices of their own, at least on some nodes.
func (c *podClass) needsDevices() bool { return c.plain.problem != nil || c.extended != nil }

// minDevices returns the smallest number of devices that a member takes.
func (c *podClass) minDevices() int {
	least := -1
	for _, f := range c.forms() {
		if f.problem == nil {
			if f.reason == nil {
				return 0
			}
			continue
		}
		if n := f.problem.MinDevices(); least < 0 || n < least {
			least = n
		}
	}
	return max(0, least)
}

// offer returns the devices that the node offers for the member, or nil without a reason if the
// member needs none.
func (c *podClass) offer(m *podCandidate, info *model.NodeInfo) (*alloc.NodeOffer, *alloc.Reason) {
	f := c.form(info)
	if f.reason != nil || f.problem == nil {
		return nil, f.reason
	}
	return f.problem.WithClaims(m.claims(f)).NodeOffer(info)
}
