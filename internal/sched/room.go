package sched

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// room is the search for room for one unit. Its trial has what is about to be gone out of the way.
type room struct {
	placer *Placer
	state  *model.State
	tx     *model.Tx
	unit   *model.Unit
	left   int // steps

	victims []*victim // who may have to leave, the least important first
	lower   int       // pods of these
	binding bool      // pods are just being bound: they may have to leave later on
	ending  bool      // something is about to be gone
	until   time.Time // when that should be, as far as it is known
	devices bool      // the unit wants some
	doomed  func(*model.Pod) bool
	base    int      // mark in the trial that each attempt starts from
	recalls []Recall // of the last attempt
	census  *census  // of the last unit and nodes
}

// place is where room could be made.
type place struct {
	nodes   []*model.NodeInfo // nil: anywhere
	victims []*victim
	guess   cost // as far as resources tell
}

// enough is how many ways to make room are compared.
const enough = 16

// find looks for the least harmful way to make room for a unit.
func (r *room) find(unit *model.Unit) *found {
	if plan := r.fits(unit, nil, nil); plan != nil {
		return &found{plan: plan}
	}
	var best *found
	ways := 0
	for _, at := range r.places(unit) {
		if r.left <= 0 || ways == enough {
			break
		}
		way := r.at(unit, at)
		if way == nil {
			continue
		}
		if ways++; best == nil || way.cost.compare(best.cost) < 0 {
			best = way
		}
	}
	if best == nil && r.scattered(unit) && r.left > 0 {
		return r.at(unit, place{victims: slices.Clone(r.victims)})
	}
	return best
}

// at looks for the victims that make room in one place.
func (r *room) at(unit *model.Unit, at place) *found {
	victims := at.victims
	r.judge(victims)
	victims, plan := r.first(unit, at.nodes, victims)
	if plan == nil {
		if victims, plan = r.creep(unit, at.nodes, at.victims); plan == nil {
			return nil
		}
	}
	victims, plan = r.spare(unit, at.nodes, victims, plan)
	victims = closed(r.part(unit, at.nodes, victims, plan))
	again := r.fits(unit, at.nodes, victims)
	if again == nil {
		return nil
	}
	return &found{victims: victims, recalls: slices.Clone(r.recalls), plan: again, cost: r.costOf(victims)}
}

// first are as few of the victims as make room, from the least important on. Few are tried before many: it costs
// something to take them out.
func (r *room) first(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) (some []*victim, plan *Plan) {
	enough, short := 0, 0
	for n := 1; plan == nil && short < len(victims) && r.left > 0; n *= 2 {
		n = min(n, len(victims))
		if plan = r.fits(unit, nodes, victims[:n]); plan == nil {
			short = n
		}
		enough = n
	}
	if plan == nil {
		return nil, nil
	}
	for enough > short+1 {
		middle := (enough + short) / 2
		if better := r.fits(unit, nodes, victims[:middle]); better != nil {
			enough, plan = middle, better
		} else {
			short = middle
		}
	}
	return slices.Clone(victims[:enough]), plan
}

// fits tries the unit with these victims gone.
func (r *room) fits(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) *Plan {
	r.tx.UndoTo(r.base)
	if r.lacks(unit, nodes, victims) {
		return nil
	}
	r.left -= r.remove(victims)
	start := r.tx.Mark()
	j := r.placer.job(r.tx, unit)
	j.quiet, j.only = true, nodes
	plan, _ := j.run()
	r.tx.UndoTo(start)
	r.left -= j.budget.Spent + 1
	return plan
}

// spare gives back whom the unit can do without, the most important first, and as many at a time as possible. With
// the steps used up, it gives back at least whoever is not where the unit goes.
func (r *room) spare(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim, plan *Plan) ([]*victim, *Plan) {
	open := len(victims) // from there on all are needed
	try := func(n int) bool {
		without := slices.Concat(victims[:open-n], victims[open:])
		better := r.fits(unit, nodes, without)
		if better != nil {
			plan = better
		}
		return better != nil
	}
	for open > 0 && r.left > 0 {
		n := longest(open, try)
		victims = slices.Delete(slices.Clone(victims), open-n, open)
		if open -= n; open > 0 {
			open--
		}
	}
	if open == 0 {
		return victims, plan
	}
	there := r.inTheWay(victims[:open], plan)
	if there = append(there, victims[open:]...); len(there) < len(victims) {
		if better := r.fits(unit, nodes, there); better != nil {
			return there, better
		}
	}
	return victims, plan
}

// longest is the largest n up to most that passes, if all below it do. It tries few numbers, near 0 at first.
func longest(most int, passes func(n int) bool) int {
	n, step := 0, 1
	for ; n+step <= most && passes(n+step); step *= 2 {
		n += step
	}
	for step /= 2; step > 0; step /= 2 {
		if n+step <= most && passes(n+step) {
			n += step
		}
	}
	return n
}

// part takes of a gang that would have to leave as a whole only the pods that are in the way, if the gang can do
// without these.
func (r *room) part(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim, plan *Plan) []*victim {
	counts := map[*gang]int{}
	for _, v := range victims {
		counts[v.gang]++
	}
	for _, v := range slices.Clone(victims) {
		g := v.gang
		if g == nil || counts[g] <= g.surplus {
			continue
		}
		counts[g] = 0 // once is enough
		some := r.inTheWay(g.victims, plan)
		if len(some) == 0 || len(some) > g.surplus {
			continue
		}
		others := slices.DeleteFunc(slices.Clone(victims), func(v *victim) bool { return v.gang == g })
		if better := r.fits(unit, nodes, append(others, some...)); better != nil {
			victims, plan = append(others, some...), better
		}
	}
	return victims
}

// creep takes victims out one by one. That can help where all at once do not: the unit may want company.
func (r *room) creep(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) ([]*victim, *Plan) {
	if !r.state.HasTerms() {
		return nil, nil
	}
	for n := 1; n < len(victims) && r.left > 0; n++ {
		if plan := r.fits(unit, nodes, victims[:n]); plan != nil {
			return victims[:n], plan
		}
	}
	for i := 1; i < len(victims) && r.left > 0; i++ {
		if plan := r.fits(unit, nodes, victims[i:i+1]); plan != nil {
			return victims[i : i+1], plan
		}
	}
	return nil, nil
}

// inTheWay are those that are on the plan's nodes, or hold devices that are not tied to one.
func (r *room) inTheWay(victims []*victim, plan *Plan) []*victim {
	nodes := map[string]bool{}
	for i := range plan.Pods {
		nodes[plan.Pods[i].Node] = true
	}
	var list []*victim
	for _, v := range victims {
		if v.fabric || v.idle() || slices.ContainsFunc(v.pods, func(pod *model.Pod) bool { return nodes[pod.Node] }) {
			list = append(list, v)
		}
	}
	return list
}

// places are where room could be made for a unit, the most promising first: for one pod single nodes, for a group that
// has to be in one domain single domains, and else anywhere.
func (r *room) places(unit *model.Unit) []place {
	key := ""
	if unit.Group != nil {
		key = unit.Group.Topology
	}
	switch {
	case len(unit.Pods) == 1:
		return r.nodes(unit.Pods[0])
	case key != "":
		return r.domains(unit, key)
	}
	return []place{{victims: slices.Clone(r.victims)}}
}

// scattered says whether victims that are not where the unit goes can be in its way, other than by holding devices.
func (r *room) scattered(unit *model.Unit) bool {
	pod := unit.Pods[0]
	single := len(unit.Pods) == 1
	return single && (r.state.HasTerms() || len(pod.Mounts) > 0 || usesClaims(r.state, pod)) || !single && unit.Group.Topology != ""
}

// nodes are those that suit the pod and have victims enough.
func (r *room) nodes(pod *model.Pod) []place {
	on, anywhere := r.byNode()
	f := newFitter(r.state, pod.Shape)
	var places []place
	for _, info := range r.state.Nodes() {
		victims := on[info.Name]
		if len(victims)+len(anywhere) == 0 || f.static(info).check != "" {
			continue
		}
		switch {
		case len(anywhere) == 0:
		case len(victims) == 0:
			victims = anywhere
		default:
			victims = slices.Concat(victims, anywhere)
			slices.SortFunc(victims, compareVictims)
			victims = slices.Compact(victims)
		}
		if guess, ok := r.guess(f, info, victims); ok {
			places = append(places, place{nodes: []*model.NodeInfo{info}, victims: victims, guess: guess})
		}
	}
	slices.SortStableFunc(places, func(a, b place) int { return a.guess.compare(b.guess) })
	return places
}

// byNode sorts victims by the nodes that they are on; those that hold devices which are not tied to a node can be in the
// way anywhere.
func (r *room) byNode() (on map[string][]*victim, anywhere []*victim) {
	on = map[string][]*victim{}
	r.left -= len(r.victims)
	for _, v := range r.victims {
		if v.fabric || v.idle() {
			anywhere = append(anywhere, v)
			continue
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

// guess says who would have to leave the node if only resources counted, and whether that would do.
func (r *room) guess(f *fitter, info *model.NodeInfo, victims []*victim) (cost, bool) {
	free := f.freeOf(info)
	c := cost{highest: math.MinInt64}
	for _, v := range victims {
		if !f.lacks(free) {
			break
		}
		if v.idle() {
			continue
		}
		for _, pod := range v.pods {
			if pod.Node != info.Name {
				continue
			}
			f.addTo(free, pod)
		}
		c.highest = max(c.highest, int64(v.priority))
		c.pods += len(v.pods)
	}
	return c, !f.lacks(free)
}

// domains are the values of a node label, with the victims there.
func (r *room) domains(unit *model.Unit, key string) []place {
	on, anywhere := r.byNode()
	known := map[string]int{}
	var places []place
	for _, info := range r.state.Nodes() {
		value, ok := info.API.Labels[key]
		if !ok {
			continue
		}
		at, ok := known[value]
		if !ok {
			at = len(places)
			known[value] = at
			places = append(places, place{victims: slices.Clone(anywhere)})
		}
		places[at].nodes = append(places[at].nodes, info)
		places[at].victims = append(places[at].victims, on[info.Name]...)
	}
	for i := range places {
		slices.SortFunc(places[i].victims, compareVictims)
		places[i].victims = slices.Compact(places[i].victims)
	}
	// The one that could be emptied for the fewest pods comes first, if it is large enough at all.
	wanted := len(unit.Pods)
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Compare(max(0, wanted-len(a.victims)), max(0, wanted-len(b.victims)))
	})
	return places
}
