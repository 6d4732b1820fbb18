package preempt

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/placement"
	"github.com/allot-dev/allot/internal/sched/reason"
	"github.com/allot-dev/allot/internal/sched/tree"
)

// stepsShare is the limit of the search for victims, as a multiple of the steps of a placement.
const stepsShare = 2

// Evaluator searches for victims on one State. It remembers for which pods preemption did not help.
type Evaluator struct {
	state    *model.State
	caches   *placement.Caches
	options  placement.Options // options of a placement with the largest budget
	refusals refusals
}

// New returns an Evaluator. options are those of a placement with the largest budget.
func New(state *model.State, caches *placement.Caches, options placement.Options) *Evaluator {
	return &Evaluator{state: state, caches: caches, options: options, refusals: refusals{}}
}

// Preempt searches for victims for a unit that was not placed. It returns nil if there are none
// that help, and adds to the reasons why. The budget is that of the slice of the reasons; they may
// become Unfinished.
func (e *Evaluator) Preempt(unit *model.Unit, reasons *reason.Reasons, in Input) *Result {
	unplaced := reasons.Code == reason.Unschedulable || reasons.Code == reason.LeftOver
	if !unplaced || unit.HalfBound || len(unit.Pods) == 0 {
		return nil
	}
	switch below := e.state.Pods.HasLowerPriority(unit.Priority); {
	case unit.NeverPreempts && below:
		reasons.Preemption = &reason.PreemptionResult{Never: true}
		return nil
	case !unit.NeverPreempts && !below && unit.Priority > 0:
		addPreemptionTopics(reasons, e.state, unit) // for when there are other pods
		return nil
	case !below:
		return nil
	}
	if pods, known := e.refusals.find(e.state, unit); known {
		addPreemptionTopics(reasons, e.state, unit)
		reasons.Preemption = &reason.PreemptionResult{Pods: pods}
		return nil
	}
	return e.search(unit, reasons, in)
}

// search searches for victims among pods of lower priority.
func (e *Evaluator) search(unit *model.Unit, reasons *reason.Reasons, in Input) *Result {
	within, conflict := tree.Within(e.state, unit)
	if conflict != "" {
		return nil // evicting pods does not bring those of the tree together
	}
	tx := e.state.Begin()
	defer tx.Undo()
	e.state.Nominations.RemoveNonBinding(unit)
	trial := &trial{state: e.state, tx: tx}
	pool := gather(trial, unit, in)
	if pool.binding {
		reasons.Further = append(reasons.Further, model.Topic{Kind: model.TopicPods})
	}
	if len(pool.victims) == 0 && !pool.terminating {
		addPreemptionTopics(reasons, e.state, unit)
		return nil
	}
	trial.setBase()
	options := e.options
	options.Steps, options.Quiet = reasons.Limit, true
	p := &preemptor{
		caches: e.caches, options: options, trial: trial, unit: unit, allowed: within, pool: pool,
		budgets: newBudgets(e.state), stepsLeft: stepsShare * reasons.Limit,
	}
	result := p.run()
	switch {
	case p.stepsLeft <= 0 && reasons.Limit < e.options.MaxSteps:
		reasons.Unfinished = true // a longer search might need fewer victims
		return nil
	case result != nil:
		reasons.Preemption = &reason.PreemptionResult{Leaving: result.Pods(), Waits: true}
	case pool.pods == 0:
		addPreemptionTopics(reasons, e.state, unit) // only groups without pods have devices
	default:
		addPreemptionTopics(reasons, e.state, unit)
		reasons.Preemption = &reason.PreemptionResult{Pods: pool.pods, Undecided: p.stepsLeft <= 0}
		if p.stepsLeft > 0 {
			e.refusals.add(e.state, unit, pool.pods)
		}
	}
	return result
}

// addPreemptionTopics adds the events after which preemption may succeed: when a pod with the same
// or a higher priority terminates, evicting others may be sufficient. And a pod that has devices
// and no node can be evicted as soon as it has one.
func addPreemptionTopics(r *reason.Reasons, state *model.State, unit *model.Unit) {
	r.Preemptor, r.LacksDevices = unit, false
	r.Further = append(r.Further, model.Topic{Kind: model.TopicRoom}, model.Topic{Kind: model.TopicNodes})
	r.Further = append(r.Further, r.Dependencies...)
	if !usesClaims(state, unit) {
		return
	}
	r.Further = append(r.Further, model.Topic{Kind: model.TopicDevices})
	if unboundPodsHaveDevices(state) {
		r.Further = append(r.Further, model.Topic{Kind: model.TopicPods})
	}
}

// unboundPodsHaveDevices reports whether devices are reserved for a pod without a node: it waits
// for them to be ready, or a scheduler stopped before it bound the pod.
func unboundPodsHaveDevices(state *model.State) (found bool) {
	state.Claims.Each(func(claim *model.Claim) bool {
		if claim.Allocation == nil {
			return true
		}
		found = slices.ContainsFunc(claim.Consumers, func(c model.Consumer) bool {
			pod, ok := state.Pods.Get(model.Key{Namespace: claim.Key.Namespace, Name: c.Name})
			return ok && pod.Node == "" && c == model.PodConsumer(c.Name, pod.UID)
		})
		return !found
	})
	return found
}
