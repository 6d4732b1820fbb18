package sched

import (
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// room searches for a set of victims for one unit. Pods and claims that are already terminating are
// removed from its trial first.
type room struct {
	placer *Placer
	state  *model.State
	tx     *model.Tx
	unit   *model.Unit
	steps  int // of each attempt
	left   int // steps of all attempts together

	victims []*victim // the possible ones, the least important first
	lower   int       // pods of these
	binding bool      // pods are being bound: they may become victims later
	ending  bool      // something is terminating
	until   time.Time // when that ends, as far as it is known
	devices bool      // the unit needs some
	guarded bool      // budgets may cover victims
	doomed  func(*model.Pod) bool
	base    int                            // mark in the trial that each attempt starts from
	recalls []Recall                       // of the last attempt
	census  *census                        // of the last unit and nodes
	budgets map[*model.Pod][]*model.Budget // that cover pods, as far as asked for
}

// The number of sets of victims that are searched for, if each place promises less harm than the
// best so far: a number, or a share of the places, as in upstream's candidates.
const (
	mostWays      = 100
	mostWaysShare = 10
)

// find returns the least harmful set of victims for a unit. The first place is the best one if its
// guess is right.
func (r *room) find(unit *model.Unit) *found {
	if plan := r.fits(unit, nil, nil); plan != nil {
		return &found{plan: plan}
	}
	var best *found
	ways, places := 0, r.places(unit)
	most := max(mostWays, len(places)/mostWaysShare)
	for i := range places {
		at := &places[i]
		if r.left <= 0 || ways == most || best != nil && best.cost.compare(at.guess) <= 0 {
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
		return r.at(unit, &place{here: r.victims})
	}
	return best
}

// at searches for victims in one place.
func (r *room) at(unit *model.Unit, at *place) *found {
	all := slices.Collect(at.victims)
	r.judge(all)
	victims, plan := r.first(unit, at.nodes, all)
	if plan == nil {
		if victims, plan = r.creep(unit, at.nodes, all); plan == nil {
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

// first returns as few of the victims as are sufficient, from the least important on. Few are tried
// before many, because removing them has a cost.
func (r *room) first(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) (some []*victim, plan *plan.Plan) {
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

// fits tries the unit without these victims.
func (r *room) fits(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) *plan.Plan {
	r.tx.UndoTo(r.base)
	if r.lacks(unit, nodes, victims) {
		return nil
	}
	r.left -= r.remove(victims)
	start := r.tx.Mark()
	j := r.placer.job(r.tx, unit, r.steps)
	j.quiet, j.only = true, nodes
	plan, _ := j.run()
	r.tx.UndoTo(start)
	r.left -= j.budget.Spent + 1
	return plan
}

// spare reprieves victims that are not needed, the most important first, and as many at a time as
// possible. If the steps are spent, it reprieves at least those that are not where the unit goes.
func (r *room) spare(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim, plan *plan.Plan) ([]*victim, *plan.Plan) {
	open := len(victims) // the victims from there on are needed
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

// longest returns the largest n up to most that passes, if all below it do. It tries few numbers,
// near 0 first.
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

// part takes only the pods that are in the way from a gang that would be evicted as a whole, if the
// gang can do without these.
func (r *room) part(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim, plan *plan.Plan) []*victim {
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

// creep removes victims one by one. That can help where all together do not: the unit may have
// affinity for some.
func (r *room) creep(unit *model.Unit, nodes []*model.NodeInfo, victims []*victim) ([]*victim, *plan.Plan) {
	if !r.state.Terms.Any() {
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

// inTheWay returns the victims on the plan's nodes, and those with devices that are not tied to a
// node.
func (r *room) inTheWay(victims []*victim, plan *plan.Plan) []*victim {
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
