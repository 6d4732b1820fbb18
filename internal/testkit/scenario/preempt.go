package scenario

import (
	"fmt"
	"strings"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/queue"
	"github.com/allot-dev/allot/internal/testkit/line"
)

// budget handles budget NAME allowed=N label=K=V… [granted=POD]…, a PodDisruptionBudget.
func (s *Scenario) budget(l *line.Line) error {
	allowed := l.Number("allowed", 0)
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: s.meta("budget", l.Name())}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: pairs(l.All("label"))}
	budget.Status.DisruptionsAllowed = int32(allowed)
	for _, pod := range l.All("granted") {
		if budget.Status.DisruptedPods == nil {
			budget.Status.DisruptedPods = map[string]metav1.Time{}
		}
		budget.Status.DisruptedPods[pod] = metav1.Time{}
	}
	converted, err := model.BudgetFrom(budget)
	if err == nil {
		s.queue.Wake(s.state.Budgets.Put(converted))
	}
	return err
}

// preempt handles the command preempt NAME [after=SECONDS] [keep] [park]: it prints how preemption
// could place a unit. With keep, its place is kept from then on, until the unit is placed or
// deleted, or preemption is not possible any more. With park, the unit is parked when preemption is
// not possible.
func (s *Scenario) preempt(l *line.Line) (string, error) {
	after, keep, park := l.Number("after", 0), l.Has("keep"), l.Has("park")
	unit, ok := s.state.Unit(s.unit(l.Name()))
	if !ok {
		return "nothing waits\n", nil
	}
	before := s.state.Dump()
	plan, reasons := s.placer.Place(unit)
	if plan != nil {
		if keep {
			s.queue.Wake(s.state.Nominations.Delete(unit.Key))
		}
		return "no need: " + printPlan(plan), nil
	}
	made := s.placer.Preempt(unit, reasons, preempt.Input{Now: time.Unix(1_000_000+int64(s.created)+after, 0)})
	if after := s.state.Dump(); before != after {
		return "", fmt.Errorf("the trial has left traces:\n%s\nwas:\n%s", after, before)
	}
	if made == nil {
		if keep {
			s.queue.Wake(s.state.Nominations.Delete(unit.Key))
		}
		if park {
			s.queue.ParkUntil(queue.EntryOf(unit), reasons.Topics(),
				func(topic model.Topic) bool { return reasons.Helps(s.state, topic) })
		}
		return printReasons(reasons, true), nil
	}
	if keep {
		s.queue.Wake(s.state.Nominations.Put(made.Nomination(s.state)))
	}
	return printPreemption(made), nil
}

func printPreemption(p *preempt.Result) string {
	var b strings.Builder
	if len(p.Victims) == 0 && len(p.Reclaims) == 0 {
		b.WriteString("wait for those who are leaving\n")
	}
	for i := range p.Victims {
		v := &p.Victims[i]
		switch {
		case v.Whole != nil:
			fmt.Fprintf(&b, "evict all of group %s (%d):", v.Whole.Key.Name, v.Priority)
		case v.Tree != nil:
			fmt.Fprintf(&b, "evict all of composite %s (%d):", v.Tree.Key().Name, v.Priority)
		default:
			fmt.Fprintf(&b, "evict (%d):", v.Priority)
		}
		for _, pod := range v.Pods {
			fmt.Fprintf(&b, " %s from %s", pod.Key.Name, pod.Node)
		}
		b.WriteByte('\n')
	}
	if p.Violations > 0 {
		fmt.Fprintf(&b, "against a budget: %d\n", p.Violations)
	}
	for i := range p.Reclaims {
		fmt.Fprintf(&b, "take back claim %s from", p.Reclaims[i].Claim.Name)
		for _, consumer := range p.Reclaims[i].Consumers {
			fmt.Fprintf(&b, " %s/%s", consumer.Resource, consumer.Name)
		}
		b.WriteByte('\n')
	}
	return b.String() + "then " + printPlan(p.Plan)
}
