package tree

import (
	"cmp"
	"math"
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
	p.stepsLeft -= all
	list = slices.DeleteFunc(list, func(d *domain) bool { return d.units == 0 })
	slices.SortFunc(list, func(a, b *domain) int {
		return cmp.Or(cmp.Compare(a.pods, b.pods), strings.Compare(a.value, b.value))
	})
	return list, all, ""
}

// unlimited is the number of groups that a domain may hold if they cannot be counted.
const unlimited = math.MaxInt32

// counterOf returns a function that counts how many groups like t some nodes hold at most. Only
// pods that must be placed for t are counted, those of groups that are alike once. What can be placed
// with one choice of groups or pods or another is not counted.
func (p *Placement) counterOf(t *model.Tree) func([]*model.NodeInfo) (units, pods int) {
	var samples []*model.Tree
	copies := map[string]int{} // of a sample
	for _, leaf := range p.required(t) {
		if !p.likeness.hasOneChoice(leaf) {
			continue
		}
		signature := p.likeness.signature(leaf)
		if copies[signature]++; copies[signature] == 1 {
			samples = append(samples, leaf)
		}
	}
	unit := *p.unit
	unit.Pods = nil
	weights := map[*model.Pod]int{}
	for _, leaf := range samples {
		pods := flat(p.state, p.unit, []*model.Tree{leaf}, false).Pods
		unit.Pods = append(unit.Pods, pods...)
		for _, pod := range pods {
			weights[pod] = copies[p.likeness.signature(leaf)]
		}
	}
	if len(unit.Pods) == 0 {
		return func(nodes []*model.NodeInfo) (units, pods int) { return unlimited, len(nodes) }
	}
	weight := func(pod *model.Pod) int { return weights[pod] }
	return placement.NewCounter(p.caches, p.tx, &unit, p.options, weight).Count
}

// required returns PodGroups that t cannot be placed without, or without others like these.
func (p *Placement) required(t *model.Tree) []*model.Tree {
	switch {
	case t.IsPlaced():
		return nil
	case t.Group != nil:
		return []*model.Tree{t}
	}
	able := slices.DeleteFunc(slices.Clone(t.Children), func(child *model.Tree) bool { return !child.CanBePlaced() })
	differs := func(child *model.Tree) bool { return !p.likeness.areAlike(child, able[0]) }
	switch {
	case len(able) <= t.Min():
	case slices.ContainsFunc(able, differs):
		return nil // some of them are placed, and it is not known which
	default:
		able = able[:t.Min()]
	}
	var list []*model.Tree
	for _, child := range able {
		list = append(list, p.required(child)...)
	}
	return list
}
