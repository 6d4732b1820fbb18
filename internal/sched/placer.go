package sched

import (
	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/score"
	"github.com/allot-dev/allot/internal/sched/tree"
)

// Placer places units on one State. It remembers what it has computed about nodes and device sets.
type Placer struct {
	state      *model.State
	alloc      *alloc.Allocator
	caches     *placement.Caches
	evaluator  *preempt.Evaluator
	steps      int
	costs      unitCosts
	stepsSpent int // steps of the last attempt
}

// NewPlacer returns a Placer. steps is the budget for one unit; see alloc.Budget.
func NewPlacer(state *model.State, steps int) *Placer {
	allocator := alloc.New()
	caches := placement.NewCaches(state, allocator)
	p := &Placer{state: state, alloc: allocator, caches: caches, steps: steps, costs: unitCosts{}}
	p.evaluator = preempt.New(state, caches, p.options(steps))
	return p
}

// Try places the unit with this key. It returns nil twice if no pod waits under the key.
func (p *Placer) Try(key model.UnitKey) (*plan.Plan, *Reasons) {
	unit, ok := p.state.Unit(key)
	if !ok {
		return nil, nil
	}
	return p.Place(unit)
}

// Place decides where the unit's pods run and which devices their claims get. A Plan places at
// least unit.Min pods; Reasons are why there is none, or why pods are left over in addition to it.
// The State is as before.
func (p *Placer) Place(unit *model.Unit) (*plan.Plan, *Reasons) {
	tx := p.state.Begin()
	defer tx.Undo()
	return p.counted(unit, func() (*plan.Plan, *Reasons) { return p.PlaceIn(tx, unit) })
}

// PlaceSlice is Place with the budget of one slice. If that was not sufficient, there is no Plan
// and the Reasons are Unfinished: the unit needs another slice, and nothing is known that could be
// reported.
func (p *Placer) PlaceSlice(unit *model.Unit, slice int) (*plan.Plan, *Reasons) {
	tx := p.state.Begin()
	defer tx.Undo()
	return p.counted(unit, func() (*plan.Plan, *Reasons) { return p.placeIn(tx, unit, sliceSteps(slice, p.steps)) })
}

// PlaceIn is Place within an open trial, whose changes it sees and keeps.
func (p *Placer) PlaceIn(tx *model.Tx, unit *model.Unit) (*plan.Plan, *Reasons) {
	return p.placeIn(tx, unit, p.steps)
}

func (p *Placer) placeIn(tx *model.Tx, unit *model.Unit, steps int) (*plan.Plan, *Reasons) {
	start := tx.Mark()
	defer tx.UndoTo(start)
	p.state.Nominations.RemoveNonBinding(unit)
	options := p.options(steps)
	p.stepsSpent = 0
	if unit.Tree != nil {
		attempt := tree.New(p.caches, tx, p.state, unit, options)
		defer func() { p.stepsSpent = attempt.Spent() }()
		return attempt.Run()
	}
	var conflict string
	if options.Only, conflict = tree.Within(p.state, unit); conflict != "" {
		return nil, tree.Conflicting(unit, conflict)
	}
	attempt := placement.New(p.caches, tx, unit, options)
	defer func() { p.stepsSpent = attempt.Spent() }()
	return attempt.Run()
}

// Spent returns the number of search steps of the last attempt to place a unit.
func (p *Placer) Spent() int { return p.stepsSpent }

// RankIn returns the best feasible nodes for the first pod of a unit, at most n, with their scores
// by preference, within an open trial.
func (p *Placer) RankIn(tx *model.Tx, unit *model.Unit, n int) []score.NodeScores {
	p.alloc.StartAttempt(p.costs.cost(unit))
	return placement.New(p.caches, tx, unit, p.options(p.steps)).Rank(n)
}

// ClassDevices returns the devices of a pool that a class selects, and whether that is known; see
// alloc.Allocator.
func (p *Placer) ClassDevices(view *model.PoolView, class *model.Class) (devices model.Bits, known bool) {
	p.alloc.StartAttempt(0)
	return p.alloc.ClassDevices(view, class)
}

// counted makes one attempt to place a unit, and records the cost of its expressions.
func (p *Placer) counted(unit *model.Unit, place func() (*plan.Plan, *Reasons)) (*plan.Plan, *Reasons) {
	p.alloc.StartAttempt(p.costs.cost(unit))
	made, reasons := place()
	if cost, unfinished := p.alloc.Unfinished(); unfinished && made == nil && reasons != nil {
		reasons.Costly = p.costs.cost(unit) < alloc.UnitCost
		p.costs.add(unit, cost)
	} else {
		p.costs.forget(unit)
	}
	return made, reasons
}

// options returns the options of a placement with this budget.
func (p *Placer) options(steps int) placement.Options {
	return placement.Options{Steps: steps, MaxSteps: p.steps, ExtraSteps: p.steps / extraShare}
}

// Preempt searches for victims for a unit that was not placed. It returns nil if there are none
// that help, and adds to the reasons why. The State is as before.
func (p *Placer) Preempt(unit *model.Unit, reasons *Reasons, in preempt.Input) *preempt.Result {
	return p.evaluator.Preempt(unit, reasons, in)
}
