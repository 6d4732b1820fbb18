package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/plan"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/reason"
)

// attempt is the result of placing one unit again.
type attempt struct {
	*Explainer
	view      *view
	key       model.UnitKey
	unit      *model.Unit // nil if none of its pods can be placed
	plan      *plan.Plan
	reasons   *sched.Reasons
	preempted *preempt.Result
}

// tryUnit places a unit on the State of its scheduler, and searches for victims if it does not fit.
func (e *Explainer) tryUnit(schedulerName string, key model.UnitKey) (*attempt, error) {
	v, err := e.view(schedulerName)
	if err != nil {
		return nil, err
	}
	key = v.state.UnitOf(key)
	a := &attempt{Explainer: e, view: v, key: key}
	unit, ok := v.state.Unit(key)
	if !ok {
		return a, nil
	}
	a.unit = unit
	a.plan, a.reasons = v.placer.Place(unit)
	if a.reasons != nil {
		a.preempted = v.placer.Preempt(unit, a.reasons, preempt.Input{Now: e.now})
	}
	return a, nil
}

// explain adds to the Report why pods of the unit wait: the pod with this name, or all if it is
// empty.
func (a *attempt) explain(r *Report, pod model.Key) {
	switch {
	case a.unit == nil:
		r.Summary = "none of the pods can be scheduled now: all are gated, terminating, finished or of another scheduler"
		return
	case a.reasons == nil || a.places(pod):
		a.fits(r, pod)
		return
	}
	switch a.reasons.Code {
	case sched.CodeGroupMissing:
		a.groupMissing(r)
		return
	case sched.CodeBelowQuorum:
		a.belowQuorum(r)
		return
	case sched.CodeGated:
		a.heldByGates(r)
		return
	}
	a.notPlaced(r, pod)
	a.undecided(r)
	a.preemption(r)
}

// places reports whether the plan has the pod, or no pod is asked for and all are placed.
func (a *attempt) places(pod model.Key) bool {
	return a.plan != nil && slices.ContainsFunc(a.plan.Pods, func(p plan.Pod) bool { return p.Pod == pod })
}

// fits explains a unit that can be placed now.
func (a *attempt) fits(r *Report, pod model.Key) {
	var nodes []string
	for i := range a.plan.Pods {
		if pod == (model.Key{}) || a.plan.Pods[i].Pod == pod {
			nodes = appendNew(nodes, a.plan.Pods[i].Node)
		}
	}
	subject := "it fits"
	if (a.key.Group || a.key.Tree) && pod == (model.Key{}) {
		subject = count(len(a.plan.Pods), "pod") + " fit"
	}
	r.Summary = fmt.Sprintf("nothing stands in the way: %s on %s now, and the scheduler has not placed it yet", subject,
		firstNames(nodes, maxNames))
	schedulerName := a.unit.Pods[0].SchedulerName
	r.help(
		"The scheduler may be about to do it. If it stays like this, the scheduler "+schedulerName+" does not run, backs off "+
			"after a failure, or decides by rules that allot does not know.",
		kubectl("get", "events", model.Key{Namespace: r.Subject.Namespace}, "--field-selector",
			"involvedObject.name="+r.Subject.Name),
	)
}

// notPlaced adds the reasons of each set of pods that are alike.
func (a *attempt) notPlaced(r *Report, pod model.Key) {
	if t := &a.reasons.Topology; t.Label != "" {
		a.topology(r, t)
	}
	for i := range a.reasons.Pods {
		p := &a.reasons.Pods[i]
		if pod != (model.Key{}) && len(a.reasons.Pods) > 1 && !slices.Contains(p.Pods, pod) && a.hasOwn(pod) {
			continue
		}
		r.Pods = append(r.Pods, a.answer(r, p))
	}
	r.Summary = a.summary(r, pod)
	for _, c := range a.reasons.Constraints {
		r.fact("Tied by claim", fmt.Sprintf("%s, whose devices can be used from %s alone", c.Claim, c.Where))
	}
}

// hasOwn reports whether there are reasons about this pod itself. Otherwise it fits and waits for
// the others.
func (a *attempt) hasOwn(pod model.Key) bool {
	return slices.ContainsFunc(a.reasons.Pods, func(p reason.PodReasons) bool { return slices.Contains(p.Pods, pod) })
}

// summary returns the answer in one sentence.
func (a *attempt) summary(r *Report, pod model.Key) string {
	if len(r.Pods) == 0 {
		return a.reasons.Short()
	}
	why := r.Pods[0].summary()
	switch {
	case a.key.Tree:
		return a.reasons.Tree + "; " + podsText(r.Pods[0].Pods) + ": " + why
	case !a.key.Group || a.reasons.Min <= 1:
		return why
	case pod == (model.Key{}):
		return fmt.Sprintf("%d of %d pods fit together; %s: %s", a.reasons.Placed, a.reasons.Min, podsText(r.Pods[0].Pods),
			why)
	case !a.hasOwn(pod):
		return fmt.Sprintf("it fits, but it waits for the rest of its gang: %d of %d pods fit together; %s: %s",
			a.reasons.Placed, a.reasons.Min, podsText(r.Pods[0].Pods), why)
	}
	return fmt.Sprintf("%d of the %d pods of its gang fit together; %s", a.reasons.Placed, a.reasons.Min, why)
}

func podsText(names []string) string {
	if len(names) == 1 {
		return "pod " + names[0]
	}
	return fmt.Sprintf("pod %s and %d more", names[0], len(names)-1)
}

// summary returns why these pods wait, in one clause.
func (p *PodAnswer) summary() string {
	switch {
	case p.Reason != "":
		return p.Reason
	case p.Examined == 0:
		return "there are no nodes"
	case p.Nearest != nil:
		return fmt.Sprintf("none of the %s fits; %s comes closest: %s", count(p.Examined, "node"), p.Nearest.Node,
			p.Nearest.Missing)
	}
	return fmt.Sprintf("none of the %s fits", count(p.Examined, "node"))
}

// answer returns the reasons of pods that are alike, and adds what would help them.
func (a *attempt) answer(r *Report, p *reason.PodReasons) PodAnswer {
	answer := PodAnswer{}
	for _, key := range p.Pods {
		answer.Pods = append(answer.Pods, key.Name)
	}
	pod, _ := a.view.state.Pods.Get(p.Pods[0])
	switch {
	case p.Blocker != nil:
		answer.Reason = p.Blocker.Text
		a.blocked(r, &answer, pod, p.Blocker)
		return answer
	case p.Alloc != nil:
		answer.Reason = p.Alloc.String()
		a.sameOnAllNodes(r, &answer, p.Alloc)
		return answer
	}
	answer.Examined = p.Nodes
	n := &nodeExplainer{attempt: a, report: r, pod: pod}
	// What would help on the nearest node comes first.
	answer.Nearest = n.nearest(p.Failures)
	for i := range p.Failures {
		answer.Nodes = append(answer.Nodes, n.classes(&p.Failures[i])...)
	}
	slices.SortStableFunc(answer.Nodes, func(x, y NodeClass) int { return cmp.Compare(y.Nodes, x.Nodes) })
	return answer
}

// topology adds how many pods fit into each domain.
func (a *attempt) topology(r *Report, t *reason.Topology) {
	name := t.Label[strings.LastIndex(t.Label, "/")+1:]
	switch {
	case t.Conflict != "":
		r.fact("Topology", t.Conflict)
	case t.Fixed != "":
		r.fact("Topology",
			fmt.Sprintf("all pods must be in %s %s (label %s), where the others of the group are", name, t.Fixed, t.Label))
	default:
		var parts []string
		domains := slices.Clone(t.Domains)
		slices.SortStableFunc(domains, func(x, y reason.DomainFit) int { return cmp.Compare(y.Fits, x.Fits) })
		for i, d := range domains {
			if i == maxNames {
				parts = append(parts, fmt.Sprintf("%d more with at most %d", len(domains)-i, d.Fits))
				break
			}
			parts = append(parts, fmt.Sprintf("%s: %d", d.Value, d.Fits))
		}
		text := fmt.Sprintf("all pods must be in one %s (label %s)", name, t.Label)
		if len(parts) > 0 {
			text += "; of " + count(a.reasons.Min, "pod") + ", there fit in " + strings.Join(parts, ", ")
		} else {
			text += ", and no node that suits the pods has the label"
		}
		r.fact("Topology", text)
		r.help(
			fmt.Sprintf("Make room for %s in one %s, or remove the topology constraint of the PodGroup.",
				count(a.reasons.Min, "pod"), name),
		)
	}
}

// undecided adds that the search has not been finished.
func (a *attempt) undecided(r *Report) {
	if a.reasons.Code != sched.CodeUndecided {
		return
	}
	r.Summary = fmt.Sprintf("undecided: the search limit of %d steps was reached; the best attempt placed %d of %d pods",
		a.reasons.Steps, a.reasons.Placed, a.reasons.Min)
	r.help(
		"A solution may exist. Requests that are easier to decide help: fewer alternatives, constraints and different pods.",
	)
}
