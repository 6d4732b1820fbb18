package placement

import (
	"cmp"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
)

// A group can be restricted to one topology domain: all of it by its schedulingConstraints; members
// that require pod affinity for each other by that, as long as there is no such pod yet. Domains
// are then tried one by one.
//
// Of the domains that hold all members, the first is the one that holds the fewest pods like them,
// so that the largest blocks stay free. Domains that hold only some come after these, those that
// hold the most first. What a domain holds is counted before anything is tried, for each class by
// itself. Ties are broken by name.

// domain is one value of a topology label, with the nodes there that are suitable for each of some
// classes.
type domain struct {
	value    string
	nodes    [][]*model.NodeInfo // nodes by class
	holds    int                 // members, counted for each class by itself
	capacity int                 // number of pods like the members that fit
}

// domainsOf returns the domains of a label for some classes, best first.
func domainsOf(classes []*podClass, key string) []*domain {
	known := map[string]*domain{}
	for i, c := range classes {
		for _, info := range c.pinnedNodes() {
			value, ok := info.Node.Labels[key]
			if !ok {
				continue
			}
			d := known[value]
			if d == nil {
				d = &domain{value: value, nodes: make([][]*model.NodeInfo, len(classes))}
				known[value] = d
			}
			d.nodes[i] = append(d.nodes[i], info)
		}
	}
	list := make([]*domain, 0, len(known))
	for _, d := range known {
		for i, c := range classes {
			pods, _ := c.capacity(d.nodes[i], false, func(*model.NodeInfo) {})
			d.capacity += pods
			d.holds += min(pods, len(c.members))
		}
		list = append(list, d)
	}
	members := countMembers(classes)
	slices.SortFunc(list, func(a, b *domain) int {
		if whole := a.holds == members; whole && b.holds == members {
			return cmp.Or(cmp.Compare(a.capacity, b.capacity), strings.Compare(a.value, b.value))
		}
		return cmp.Or(
			cmp.Compare(b.holds, a.holds), cmp.Compare(a.capacity, b.capacity), strings.Compare(a.value, b.value),
		)
	})
	return list
}
