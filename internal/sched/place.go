package sched

import (
	"cmp"
	"math"
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// place is a site where preemption could make room.
type place struct {
	nodes     []*model.NodeInfo // nil: anywhere
	here      []*victim         // with pods there
	elsewhere []*victim         // that may have devices that are missing there; some are in here, too
	guess     cost              // see estimator
}

// victims iterates over all of them, the least important first.
func (p *place) victims(yield func(*victim) bool) {
	here, elsewhere := p.here, p.elsewhere
	for len(here)+len(elsewhere) > 0 {
		var next *victim
		switch {
		case len(elsewhere) == 0 || len(here) > 0 && here[0].rank < elsewhere[0].rank:
			next, here = here[0], here[1:]
		case len(here) > 0 && here[0] == elsewhere[0]:
			here = here[1:]
			fallthrough
		default:
			next, elsewhere = elsewhere[0], elsewhere[1:]
		}
		if !yield(next) {
			return
		}
	}
}

// places returns the sites for a unit, the most promising first: for one pod single nodes, for a
// group that must be in one domain single domains, and otherwise all nodes.
func (r *room) places(unit *model.Unit) []place {
	key := ""
	if unit.Group != nil {
		key = unit.Group.Topology
	}
	switch {
	case len(unit.Pods) == 1:
		return r.nodes(unit)
	case key != "":
		return r.domains(unit, key)
	}
	return []place{{here: r.victims, guess: unknown}}
}

// scattered reports whether victims elsewhere can prevent the placement of the unit other than by
// holding devices.
func (r *room) scattered(unit *model.Unit) bool {
	pod := unit.Pods[0]
	single := len(unit.Pods) == 1
	return single && (r.state.Terms.Any() || len(pod.Mounts) > 0 || usesClaims(r.state, pod)) || !single && unit.Group.Topology != ""
}

// nodes returns the suitable nodes with enough victims.
func (r *room) nodes(unit *model.Unit) []place {
	on, anywhere := r.byNode()
	e := r.newEstimator(unit)
	var places []place
	for i := range e.slots {
		info := e.slots[i].node
		at := place{nodes: []*model.NodeInfo{info}, here: on[info.Name], elsewhere: anywhere}
		if len(at.here)+len(anywhere) == 0 {
			continue
		}
		if e.guess(&at) {
			places = append(places, at)
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.guess.compare(b.guess) })
	return places
}

// byNode returns the victims by node. Those with devices that are not tied to a node are returned
// for all nodes.
func (r *room) byNode() (on map[string][]*victim, anywhere []*victim) {
	on = map[string][]*victim{}
	r.left -= len(r.victims)
	for _, v := range r.victims {
		if v.fabric || v.idle() {
			anywhere = append(anywhere, v)
		}
		seen := map[string]bool{}
		for _, pod := range v.pods {
			if !seen[pod.Node] {
				seen[pod.Node] = true
				on[pod.Node] = append(on[pod.Node], v)
			}
		}
	}
	return on, anywhere
}

// domains returns the values of a node label, with the victims there.
func (r *room) domains(unit *model.Unit, key string) []place {
	on, anywhere := r.byNode()
	known := map[string]int{}
	var places []place
	for _, info := range r.state.Nodes.List() {
		value, ok := info.Node.Labels[key]
		if !ok {
			continue
		}
		at, ok := known[value]
		if !ok {
			at = len(places)
			known[value] = at
			places = append(places, place{elsewhere: anywhere, guess: unknown})
		}
		places[at].nodes = append(places[at].nodes, info)
		places[at].here = append(places[at].here, on[info.Name]...)
	}
	for i := range places {
		slices.SortFunc(places[i].here, func(a, b *victim) int { return cmp.Compare(a.rank, b.rank) })
		places[i].here = slices.Compact(places[i].here)
	}
	// What devices provide of a node's resources is counted by claims, not by pods.
	if !r.state.Devices.HasDraws() {
		e := r.newEstimator(unit)
		places = slices.DeleteFunc(places, func(at place) bool { return !e.guess(&at) })
	}
	// Of equal ones, the one with the fewest pods to evict comes first, if it is large enough at
	// all.
	short := func(p *place) int { return max(0, len(unit.Pods)-len(p.here)-len(p.elsewhere)) }
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(a.guess.compare(b.guess), cmp.Compare(short(&a), short(&b)))
	})
	return places
}

// unknown is the guess if nothing is known.
var unknown = cost{highest: math.MinInt64}
