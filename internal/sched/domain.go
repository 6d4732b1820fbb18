package sched

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// A group can be bound to one topology domain: by its schedulingConstraints, all of it; by required pod affinity of
// members for each other, those that have it, as long as there is no such pod yet. Domains are then tried one by one.
//
// Of the domains that hold all the members, the one comes first that has room for the fewest pods like them, so that
// the largest blocks stay free. Domains that hold only some come after these, those that hold the most first. What a
// domain holds is counted ahead of trying, each class of members by itself. Ties go by name.

// pin keeps a class to the nodes with one value of a label.
type pin struct {
	key, value string
	nodes      []*model.NodeInfo // those that suit the class
}

// outside returns the pin that the node does not match, or nil.
func (c *class) outside(info *model.NodeInfo) *pin {
	for i := range c.pins {
		if value, ok := info.Node.Labels[c.pins[i].key]; !ok || value != c.pins[i].value {
			return &c.pins[i]
		}
	}
	return nil
}

// within returns the nodes that pass the static checks for the class, in the domains that it is
// kept to.
func (j *job) within(c *class) []*model.NodeInfo {
	if n := len(c.pins); n > 0 {
		return c.pins[n-1].nodes
	}
	if j.only == nil {
		return j.suited(c).Nodes
	}
	return c.fitter.Suitable(j.only)
}

// domain is one value of a topology label, with the nodes there that suit each of some classes.
type domain struct {
	value string
	nodes [][]*model.NodeInfo // by class
	holds int                 // members, each class by itself
	room  int                 // for pods like the members
}

// domainsOf sorts the nodes of some classes by a label, best domain first.
func (j *job) domainsOf(classes []*class, key string) []*domain {
	known := map[string]*domain{}
	for i, c := range classes {
		for _, info := range j.within(c) {
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
	members := 0
	for _, c := range classes {
		members += len(c.members)
	}
	list := make([]*domain, 0, len(known))
	for _, d := range known {
		for i, c := range classes {
			room, _ := j.room(c, d.nodes[i], false, func(*model.NodeInfo) {})
			d.room += room
			d.holds += min(room, len(c.members))
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b *domain) int {
		if whole := a.holds == members; whole && b.holds == members {
			return cmp.Or(cmp.Compare(a.room, b.room), strings.Compare(a.value, b.value))
		}
		return cmp.Or(cmp.Compare(b.holds, a.holds), cmp.Compare(a.room, b.room), strings.Compare(a.value, b.value))
	})
	return list
}

// inEach tries the domains one by one until every member is placed. Each gets its share of the
// steps that are left, so that one that is hard to refute leaves some to the others.
func (j *job) inEach(classes []*class, key string, domains []*domain, try func(*domain)) bool {
	limit := j.budget.Limit
	defer func() { j.budget.Limit = limit }()
	for n, d := range domains {
		limit += j.cost
		left := limit - j.budget.Spent
		j.budget.Limit = j.budget.Spent + j.cost + max(0, left-j.cost)/(len(domains)-n)
		for i, c := range classes {
			c.pins = append(c.pins, pin{key: key, value: d.value, nodes: d.nodes[i]})
		}
		try(d)
		for _, c := range classes {
			c.pins = c.pins[:len(c.pins)-1]
		}
		j.undecided, j.exhausted = j.undecided || j.exhausted, false
		if j.bestPlaced == len(j.members) {
			return true
		}
	}
	return false
}

// inDomains tries the unit, in one domain if its group has to be in one.
func (j *job) inDomains() {
	key := j.topology()
	if key == "" {
		j.allocateShared(0)
		return
	}
	domains := j.domainsOf(j.classes, key)
	if fixed := j.reasons.Topology.Fixed; fixed != "" {
		domains = slices.DeleteFunc(domains, func(d *domain) bool { return d.value != fixed })
	}
	fits := make([]reason.DomainFit, 0, len(domains))
	j.inEach(j.classes, key, domains, func(d *domain) {
		j.reached = 0
		j.allocateShared(0)
		fits = append(fits, reason.DomainFit{Value: d.value, Fits: j.reached})
	})
	j.reasons.Topology.Domains = fits
}

// topology returns the node label by which the group's pods must be in one domain, or "".
func (j *job) topology() string {
	if j.unit.Group == nil {
		return ""
	}
	return j.unit.Group.Topology
}

// fixDomain finds the domain of the members that are bound already. It returns false, with the
// reason, if they do not have one.
func (j *job) fixDomain() bool {
	key := j.topology()
	if key == "" {
		return true
	}
	j.reasons.Topology.Label = key
	j.reasons.Further = []model.Topic{{Kind: model.TopicNodes}} // a label that changes can settle it
	for _, pod := range j.state.Groups.Members(j.unit.Key.Key) {
		if !pod.Counts() || pod.Deleting {
			continue
		}
		value, ok := j.domainOf(pod, key)
		switch {
		case !ok:
			j.reasons.Topology.Conflict = fmt.Sprintf("pod %s of the group is on node %s, which has no label %s", pod.Key.Name, pod.Node, key)
			return false
		case j.reasons.Topology.Fixed != "" && j.reasons.Topology.Fixed != value:
			j.reasons.Topology.Conflict = fmt.Sprintf("pods of the group are in more than one domain of %s: %s and %s", key, j.reasons.Topology.Fixed, value)
			return false
		}
		j.reasons.Topology.Fixed = value
	}
	return true
}

func (j *job) domainOf(pod *model.Pod, key string) (string, bool) {
	info, ok := j.state.Nodes.Get(pod.Node)
	if !ok {
		return "", false
	}
	value, ok := info.Node.Labels[key]
	return value, ok
}

// together are classes that required affinity keeps in one domain of a label.
type together struct {
	term    *model.Term
	key     string
	classes []*class
}

// gatherings returns the members with required affinity for each other that no other pod satisfies:
// no pod that runs, and no member that could be elsewhere itself. Single pods follow the first of
// them wherever it is.
func (j *job) gatherings() []together {
	if !j.packs() || !j.state.Terms.Any() {
		return nil
	}
	var list []together
	known := map[string]int{}
	for _, c := range j.classes {
		if !c.fitter.MatchesItself(j.state) {
			continue
		}
		for _, term := range c.fitter.Shape.Terms.Affinity {
			if _, everywhere := j.state.Terms.Picked(term, ""); everywhere > 0 {
				continue
			}
			at, ok := known[term.ID]
			if !ok {
				at = len(list)
				known[term.ID] = at
				list = append(list, together{term: term, key: term.TopologyKey})
			}
			list[at].classes = append(list[at].classes, c)
		}
	}
	return slices.DeleteFunc(list, j.hasOthers)
}

// hasOthers reports whether members outside the gathering satisfy its affinity.
func (j *job) hasOthers(g together) bool {
	return slices.ContainsFunc(j.classes, func(c *class) bool {
		shape := c.fitter.Shape
		return !slices.Contains(g.classes, c) && g.term.Matches(shape, j.state.Namespaces.Labels(shape.Namespace))
	})
}

// gathered tries the members with each gathering from this one on in one domain after the other.
func (j *job) gathered(at int) bool {
	if at == len(j.meetings) {
		return j.attempt()
	}
	g := j.meetings[at]
	domains := j.domainsOf(g.classes, g.key)
	if len(domains) == 0 {
		return j.gathered(at + 1) // without them
	}
	return j.inEach(g.classes, g.key, domains, func(*domain) { j.gathered(at + 1) })
}
