package preempt

import (
	"math"
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// budgets are the PodDisruptionBudgets that cover possible victims.
type budgets struct {
	state    *model.State
	covering map[*model.Pod][]*model.Budget // by pod, as far as it was looked up
}

func newBudgets(state *model.State) *budgets {
	return &budgets{state: state, covering: map[*model.Pod][]*model.Budget{}}
}

// markViolations marks the victims that a budget protects if all of them are evicted, the least
// important first, and sorts them.
func (b *budgets) markViolations(victims []*victim) {
	for _, v := range victims {
		v.violates = false
	}
	slices.SortFunc(victims, compareVictims)
	used := map[*model.Budget]int{}
	for _, v := range victims {
		v.violates = b.violationsOf(v, used) > 0
	}
	slices.SortFunc(victims, compareVictims)
}

// violations returns the number of pods that a budget protects when these victims are evicted.
func (b *budgets) violations(victims []*victim) int {
	n, used := 0, map[*model.Budget]int{}
	for _, v := range victims {
		n += b.violationsOf(v, used)
	}
	return n
}

// violationsOf returns the number of the victim's pods that a budget protects, and adds them to
// what is used of the budgets.
func (b *budgets) violationsOf(v *victim, used map[*model.Budget]int) int {
	n := 0
	for _, pod := range v.pods {
		violates := false
		for _, budget := range b.budgetsOf(pod) {
			used[budget]++
			violates = violates || used[budget] > budget.Allowed
		}
		if violates {
			n++
		}
	}
	return n
}

// budgetsOf returns the budgets that cover the pod.
func (b *budgets) budgetsOf(pod *model.Pod) []*model.Budget {
	all := b.state.Budgets.List(pod.Key.Namespace)
	if len(all) == 0 {
		return nil
	}
	known, ok := b.covering[pod]
	if ok {
		return known
	}
	for _, budget := range all {
		if budget.Covers(pod) {
			known = append(known, budget)
		}
	}
	b.covering[pod] = known
	return known
}

// costOf returns the cost of evicting some victims.
func (b *budgets) costOf(victims []*victim) evictionCost {
	c := evictionCost{violations: b.violations(victims), highest: math.MinInt64}
	groups := map[model.Key]bool{}
	for _, v := range victims {
		if v.holdsOnlyDevices() {
			continue
		}
		if v.isOfGroup() && !groups[v.group] {
			groups[v.group] = true
			c.groups++
		}
		c.pods += len(v.pods)
		c.sum += int64(v.priority) * int64(len(v.pods))
		switch priority := int64(v.priority); {
		case priority > c.highest:
			c.highest, c.started = priority, v.started
		case priority == c.highest && v.started.Before(c.started):
			c.started = v.started
		}
	}
	return c
}
