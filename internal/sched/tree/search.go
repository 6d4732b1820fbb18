package tree

import (
	"fmt"
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// next continues a search after a part of the tree has got places. It reports whether the rest has
// got places, too; otherwise the part is tried elsewhere.
type next func(run) bool

// run is what children that are alike know of each other: they are interchangeable, so each one is
// tried from the domain of the one before on, and without any if that one was left out.
type run struct {
	domains []*domain // that may hold one; nil if they are not known
	all     int       // domains, those included that hold none
	from    int
	chosen  int // how many have chosen the domain, if their pods are placed together
	skipped bool
}

// exhausted reports whether the steps are spent.
func (p *Placement) exhausted() bool { return p.stepsLeft <= 0 }

// place finds places for a part of the tree on some of the nodes, nil for all, and continues. It
// leaves nothing in the trial if it fails.
func (p *Placement) place(t *model.Tree, nodes []*model.NodeInfo, r run, then next) bool {
	label := t.Topology()
	switch {
	case t.IsPlaced():
		return then(r)
	case t.Problem != "":
		return false
	case label == "":
		return p.placePart(t, nodes, func() bool { return then(r) })
	}
	if r.domains == nil {
		var conflict string
		if r.domains, r.all, conflict = p.domainsOf(t, nodes); conflict != "" {
			p.note(t, "cannot be completed: "+conflict, nil)
			return false
		}
	}
	for i := r.from; i < len(r.domains) && !p.exhausted(); i++ {
		d, after := r.domains[i], r
		if i > r.from {
			after.chosen = 0
		}
		if p.stepsLeft--; p.joint && after.chosen >= d.units || !p.joint && !d.hasRoom() {
			continue
		}
		after.from, after.chosen = i, after.chosen+1
		if p.placeInDomain(t, d, func() bool { return then(after) }) {
			return true
		}
	}
	p.note(t, fmt.Sprintf("fits into none of %d domain(s) of %s", r.all, label), nil)
	return false
}

// placeInDomain finds places for a part of the tree in a domain.
func (p *Placement) placeInDomain(t *model.Tree, d *domain, then func() bool) bool {
	outer := p.domain
	p.domain = reason.DomainName(t.Topology(), d.value)
	found := p.placePart(t, d.nodes, func() bool {
		inner := p.domain
		p.domain = outer
		done := then()
		p.domain = inner
		return done
	})
	p.domain = outer
	return found
}

// placePart finds places for a part of the tree, whose own topology constraint is satisfied.
func (p *Placement) placePart(t *model.Tree, nodes []*model.NodeInfo, then func() bool) bool {
	if isBlock(t) {
		return p.block(t, nodes, then)
	}
	f := &family{Placement: p, tree: t, children: p.likeness.ordered(t.Children), nodes: nodes, then: then}
	return f.place(0, 0, run{})
}

// isBlock reports whether no group below t has a topology constraint.
func isBlock(t *model.Tree) bool {
	return !slices.ContainsFunc(
		t.Children,
		func(child *model.Tree) bool { return child.Topology() != "" || !isBlock(child) },
	)
}

// family is the children of a CompositePodGroup that is no block.
type family struct {
	*Placement
	tree     *model.Tree
	children []*model.Tree // those that are alike next to each other
	nodes    []*model.NodeInfo
	then     func() bool
}

// place finds places for the children from this index on, with some of those before placed.
func (f *family) place(at, placed int, r run) bool {
	if at == len(f.children) {
		return placed >= f.tree.Min() && f.then()
	}
	if at > 0 && !f.likeness.areAlike(f.children[at-1], f.children[at]) {
		r = run{}
	}
	if f.exhausted() || !f.suffices(at, placed, &r) {
		return false
	}
	child := f.children[at]
	if !r.skipped && f.Placement.place(child, f.nodes, r, func(after run) bool { return f.place(at+1, placed+1, after) }) {
		return true
	}
	if placed+len(f.children)-at-1 < f.tree.Min() {
		return false
	}
	r.skipped = true
	return f.place(at+1, placed, r)
}

// suffices reports whether enough children can still get places, as far as counting knows: those
// that are alike are counted in their domains.
func (f *family) suffices(at, placed int, r *run) bool {
	child, alike := f.children[at], 1
	for alike < len(f.children)-at && f.likeness.areAlike(child, f.children[at+alike]) {
		alike++
	}
	others := len(f.children) - at - alike
	if r.skipped {
		return placed+others >= f.tree.Min()
	}
	if r.domains != nil || child.Topology() == "" || child.IsPlaced() || child.Problem != "" {
		return placed+alike+others >= f.tree.Min()
	}
	domains, all, conflict := f.domainsOf(child, f.nodes)
	if conflict != "" {
		return placed+alike+others >= f.tree.Min()
	}
	r.domains, r.all = domains, all
	room := 0
	for _, d := range domains {
		room = min(alike, room+min(alike, d.units))
	}
	if placed+room+others >= f.tree.Min() {
		return true
	}
	f.note(f.tree, fmt.Sprintf("needs %d groups: there is room for %d of %d like %s, each in one domain of %s",
		f.tree.Min(), room, alike, child.Key().Name, child.Topology()), nil)
	return false
}
