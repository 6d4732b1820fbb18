package tree

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
)

// domain is one value of a topology label.
type domain struct {
	value string
	nodes []*model.NodeInfo
	units int // groups like the one that is placed that it holds at most, when it was counted
	pods  int // and pods like its own
	count func([]*model.NodeInfo) (units, pods int)
}

// hasRoom reports whether counting does not exclude that the domain holds one more group.
func (d *domain) hasRoom() bool {
	units, _ := d.count(d.nodes)
	return units > 0
}

// domainsOf returns the domains of a group that may hold it, those with the least room first, and how
// many there are in all; or why pods that are bound leave none.
func (p *Placement) domainsOf(t *model.Tree, nodes []*model.NodeInfo) (list []*domain, all int, conflict string) {
	pin := p.state.PinOf(t)
	if pin.Conflict != "" {
		return nil, 0, pin.Conflict
	}
	if nodes == nil {
		nodes = p.state.Nodes.List()
	}
	count := p.counterOf(t)
	known := map[string]*domain{}
	for _, info := range nodes {
		value, ok := info.Node.Labels[pin.Label]
		if !ok || pin.Restricted && value != pin.Value {
			continue
		}
		d := known[value]
		if d == nil {
			d = &domain{value: value, count: count}
			known[value] = d
			list = append(list, d)
		}
		d.nodes = append(d.nodes, info)
	}
	for _, d := range list {
		d.units, d.pods = count(d.nodes)
	}
	all = len(list)
	p.left -= all
	list = slices.DeleteFunc(list, func(d *domain) bool { return d.units == 0 })
	slices.SortFunc(list, func(a, b *domain) int {
		return cmp.Or(cmp.Compare(a.pods, b.pods), strings.Compare(a.value, b.value))
	})
	return list, all, ""
}

// counterOf returns a function that counts how many groups like t some nodes hold at most. Only
// pods that must be placed for t are counted. If t can be placed with one choice of groups or
// another, none is excluded.
func (p *Placement) counterOf(t *model.Tree) func([]*model.NodeInfo) (units, pods int) {
	needed := flat(p.state, p.unit, required(t), false)
	if len(needed.Pods) == 0 {
		return func(nodes []*model.NodeInfo) (units, pods int) { return len(nodes), len(nodes) }
	}
	return placement.NewCounter(p.caches, p.tx, needed, p.options).Count
}

// required returns the PodGroups without which t cannot be placed.
func required(t *model.Tree) []*model.Tree {
	switch {
	case t.IsPlaced():
		return nil
	case t.Group != nil:
		return []*model.Tree{t}
	}
	able := 0
	for _, child := range t.Children {
		if child.CanBePlaced() {
			able++
		}
	}
	if able > t.Min() {
		return nil // some of them are, and it is not known which
	}
	var list []*model.Tree
	for _, child := range t.Children {
		if child.CanBePlaced() {
			list = append(list, required(child)...)
		}
	}
	return list
}
