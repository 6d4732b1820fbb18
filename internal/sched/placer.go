package sched

import (
	"fmt"
	"slices"

	"github.com/allot-dev/allot/internal/alloc"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/reason"
	"github.com/allot-dev/allot/internal/sched/score"
)

// DefaultSteps is a budget that a small machine spends in a fraction of a second.
const DefaultSteps = 50_000

// Placer places units on one State. It remembers what it has computed about nodes and device sets.
type Placer struct {
	state   *model.State
	alloc   *alloc.Allocator
	steps   int
	fits    *nodefit.Cache
	ranks   *score.Cache
	refused map[string]refusal // pods for which preemption did not help, by shape
	costs   unitCosts
}

// NewPlacer returns a Placer. steps is the budget for one unit; see alloc.Budget.
func NewPlacer(state *model.State, steps int) *Placer {
	return &Placer{
		state: state, alloc: alloc.New(), steps: steps, fits: nodefit.NewCache(state), ranks: score.NewCache(state),
		refused: map[string]refusal{}, costs: unitCosts{},
	}
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

// PlaceIn is Place within an open trial, whose changes it sees and keeps.
func (p *Placer) PlaceIn(tx *model.Tx, unit *model.Unit) (*plan.Plan, *Reasons) {
	return p.placeIn(tx, unit, p.steps)
}

func (p *Placer) placeIn(tx *model.Tx, unit *model.Unit, steps int) (*plan.Plan, *Reasons) {
	start := tx.Mark()
	defer tx.UndoTo(start)
	p.state.Nominations.RemoveNonBinding(unit)
	return p.job(tx, unit, steps).run()
}

func (p *Placer) job(tx *model.Tx, unit *model.Unit, steps int) *job {
	return &job{
		tx:     tx,
		placer: p, state: p.state, unit: unit, steps: steps,
		budget: &alloc.Budget{Limit: steps}, boards: &alloc.Budget{Limit: steps},
		reasons: &Reasons{Unit: unit.Key, Min: unit.Min, Attempt: reason.Attempt{Limit: steps}},
	}
}

func (j *job) run() (*plan.Plan, *Reasons) {
	if j.waitsForGroup() {
		return nil, j.reasons
	}
	if j.gather(); len(j.members) < j.unit.Min {
		j.reasons.Code = CodeWaiting
		return nil, j.reasons
	}
	if j.prepare(); len(j.members) < j.unit.Min || !j.fixDomain() {
		j.reasons.Code = CodeUnschedulable
		return nil, j.reasons
	}
	start := j.mark()
	j.search()
	j.undo(start)
	return j.result()
}

// moreShare is the part of the Placer's steps that may be spent on placing more of a gang than it
// needs, in any slice: a gang that can run does not wait for another slice.
const moreShare = DefaultSteps / firstSlice

// search tries all shared devices and domains with filling alone. Only if that places too few, or
// not all of a gang, and counting does not prove that no more can be placed, it tries them again
// with a search for each.
func (j *job) search() {
	j.cost = j.straight()
	j.budget.Limit += j.cost
	j.meetings = j.gatherings()
	j.inDomains()
	if j.exhausted || j.undecided || j.bestPlaced == len(j.members) {
		return
	}
	if j.bestPlaced >= j.unit.Min {
		if !j.packs() {
			return
		}
		j.budget.Limit = min(j.budget.Limit, j.budget.Spent+j.placer.steps/moreShare)
	}
	if !j.promising {
		return
	}
	j.deep = true
	j.budget.Limit += j.cost
	j.inDomains()
}

// waitsForGroup reports whether the unit cannot be tried because of its PodGroup.
func (j *job) waitsForGroup() bool {
	key := j.unit.Key
	if !key.Group {
		return false
	}
	if j.unit.Group == nil {
		j.reasons.Code = CodeGroupMissing
		return true
	}
	census := j.state.Groups.Census(key.Key)
	if j.unit.Group.Gang {
		j.reasons.Quorum = reason.Quorum{Census: census, MinCount: j.unit.Group.MinCount}
	}
	switch {
	case TooFew(j.unit.Group, census):
		j.reasons.Code = CodeBelowQuorum
	case census.Gated > 0 && !j.unit.HalfBound:
		j.reasons.Code, j.reasons.Gates = CodeGated, Gates(j.state.Groups.Members(key.Key))
	default:
		return false
	}
	return true
}

// Gates returns for which of a group's pods the others wait. As in kube-scheduler, a pod with
// scheduling gates holds all that wait with it: a gang that is placed without it would leave it
// behind.
func Gates(members []*model.Pod) string {
	text, more := "", 0
	for _, pod := range members {
		switch {
		case !pod.Gated || pod.Foreign || pod.Node != "" || !pod.Live():
		case text == "":
			text = "waiting for the scheduling gates of pod " + pod.Key.Name
		default:
			more++
		}
	}
	if more > 0 {
		text += fmt.Sprintf(" and of %d more", more)
	}
	return text
}

// TooFew reports whether a group is a gang that has too few members to be tried.
func TooFew(group *model.Group, census model.Census) bool {
	return group.Gang && census.Quorum() < group.MinCount
}

// job is the placement of one unit.
type job struct {
	placer  *Placer
	state   *model.State
	unit    *model.Unit
	steps   int           // of the slice
	budget  *alloc.Budget // the steps, including those for placing everything at the first try
	boards  *alloc.Budget // what it may cost to find out whether nodes offer enough devices
	members []*member
	classes []*class
	bundles []*bundle
	leftOut []*class // temporarily: a shared claim that they use has no allocation
	reasons *Reasons

	// only restricts the attempt to these nodes (preemption); nil means all. quiet skips building
	// Reasons.
	only  []*model.NodeInfo
	quiet bool

	tx         *model.Tx
	placements []plan.Pod
	touched    []touch // claims that the trial has changed, as they were before
	best       *plan.Plan
	bestReason *Reasons // of the attempt that placed the most
	bestPlaced int
	reached    int  // the most that any attempt has placed, or could by counting, since this was set to 0
	exhausted  bool // the budget
	undecided  bool // the steps for some domain were not sufficient

	promising bool       // by counting, a search could place more in some attempt than filling did
	deep      bool       // filling was not sufficient: search
	cost      int        // of placing everything at the first try, in steps
	meetings  []together // see gatherings
}

type touch struct {
	key    model.Key
	before *model.Claim
	made   *model.Claim
	relies *model.Consumer // nothing is changed, as the claim has this consumer
}

// prepare reads what claims request. Members whose claims cannot be allocated on any node go to the
// Reasons.
func (j *job) prepare() {
	for _, c := range slices.Clone(j.classes) {
		own := c.members[0].own
		switch {
		case c.extended != nil:
			c.plain.reason = j.prepareForms(c)
			j.reasons.Offers = append(j.reasons.Offers, c.extended.topics()...)
		case len(own) > 0:
			c.plain.problem, c.plain.reason = j.placer.alloc.Prepare(j.state, own, true)
		}
		if c.plain.reason != nil {
			j.refuse(c, c.plain.reason)
		}
	}
	j.bundle()
	for _, b := range slices.Clone(j.bundles) {
		problem, reason := j.placer.alloc.Prepare(j.state, b.claims, true)
		b.problem = problem
		if reason == nil {
			continue
		}
		for _, c := range b.classes {
			j.refuse(c, reason)
		}
		j.bundles = slices.DeleteFunc(j.bundles, func(other *bundle) bool { return other == b })
	}
	j.members = nil
	var problems []*alloc.Problem
	for _, c := range j.classes {
		j.members = append(j.members, c.members...)
		for _, f := range c.forms() {
			if f.problem != nil {
				problems = append(problems, f.problem)
			}
		}
	}
	for _, b := range j.bundles {
		problems = append(problems, b.problem)
	}
	for _, problem := range problems {
		problem.WithinBudget(j.boards)
		problem.SetTrialClaims(j.inTrial)
		problem.DistinguishFor(problems)
	}
}

// straight returns what it costs in steps to place everything at the first try. It is not taken
// from the budget.
func (j *job) straight() int {
	steps := len(j.members)
	for _, c := range j.classes {
		most := 0
		for _, f := range c.forms() {
			if f.problem != nil {
				most = max(most, f.problem.MaxDevices())
			}
		}
		steps += len(c.members) * most
	}
	for _, b := range j.bundles {
		steps += b.problem.MaxDevices()
	}
	return steps
}

// refuse excludes a class, for a reason that is valid on all nodes.
func (j *job) refuse(c *class, cause *alloc.Reason) {
	if !slices.Contains(j.classes, c) {
		return
	}
	j.reasons.Pods = append(j.reasons.Pods, reason.PodReasons{Pods: keysOf(c.members), Alloc: cause})
	j.classes = slices.DeleteFunc(j.classes, func(other *class) bool { return other == c })
}

func keysOf(members []*member) []model.Key {
	keys := make([]model.Key, len(members))
	for i, m := range members {
		keys[i] = m.pod.Key
	}
	return keys
}

// suited returns the nodes that pass the static checks for the class.
func (j *job) suited(c *class) *nodefit.NodeSet { return j.placer.fits.Suitable(c.fitter) }

// mark is a point in the trial that can be returned to.
type mark struct {
	tx, placements, touched int
}

func (j *job) mark() mark {
	return mark{tx: j.tx.Mark(), placements: len(j.placements), touched: len(j.touched)}
}

func (j *job) undo(m mark) {
	j.tx.UndoTo(m.tx)
	j.placements = j.placements[:m.placements]
	j.touched = j.touched[:m.touched]
}

// assumeClaim changes a claim within the trial.
func (j *job) assumeClaim(key model.Key, a model.Assumption) {
	before, _ := j.state.Claims.Get(key)
	j.touched = append(j.touched, touch{key: key, before: before, made: a.NewClaim})
	if !j.state.Claims.Assume(key, a) {
		panic("sched: claim " + key.String() + " cannot take the allocation that was found for it")
	}
}

// inTrial reports whether a claim has devices in the trial alone.
func (j *job) inTrial(claim model.Key) bool {
	return slices.ContainsFunc(j.touched, func(t touch) bool {
		return t.key == claim && (t.before == nil || t.before.Allocation == nil)
	})
}

// plan returns what the trial has done.
func (j *job) plan() *plan.Plan {
	p := &plan.Plan{Unit: j.unit.Key, Pods: slices.Clone(j.placements)}
	if j.unit.Group != nil {
		p.Group = j.unit.Group.UID
		if j.unit.Group.Gang {
			p.MinCount = j.unit.Group.MinCount
		}
	}
	slices.SortFunc(p.Pods, func(a, b plan.Pod) int { return model.CompareKeys(a.Pod, b.Pod) })
	seen := map[model.Key]bool{}
	for _, t := range j.touched {
		if seen[t.key] {
			continue
		}
		seen[t.key] = true // the first of several changes has the claim as it was
		if claim := j.claimPlan(t); claim != nil {
			p.Claims = append(p.Claims, *claim)
		}
	}
	slices.SortFunc(p.Claims, func(a, b plan.Claim) int { return model.CompareKeys(a.Key, b.Key) })
	p.Relies = j.reliances()
	return p
}

// claimPlan returns what the trial has changed about a claim. A claim that no pod uses in the end
// is left alone.
func (j *job) claimPlan(t touch) *plan.Claim {
	now, _ := j.state.Claims.Get(t.key)
	if t.made != nil {
		return &plan.Claim{Key: t.key, Make: t.made, Allocation: now.Allocation, Reserve: slices.Clone(now.Consumers)}
	}
	reserve := now.Consumers[len(t.before.Consumers):]
	if len(now.Consumers) == 0 {
		return nil
	}
	p := &plan.Claim{Key: t.key, UID: now.UID, Version: now.Version, Reserve: slices.Clone(reserve), Protected: now.Protected}
	if t.before.Allocation == nil {
		p.Allocation = now.Allocation
	}
	if p.Allocation == nil && len(p.Reserve) == 0 {
		return nil
	}
	return p
}
