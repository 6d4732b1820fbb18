package cluster

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/klog/v2"

	"github.com/allot-dev/allot/internal/model"
)

// budgetChange applies a PodDisruptionBudget. One with an invalid selector, which validation
// rejects, protects nothing.
func budgetChange(old, now *policyv1.PodDisruptionBudget) change {
	gone := func(budget *policyv1.PodDisruptionBudget) change {
		key := model.KeyOf(budget)
		return func(s *model.State) []model.Topic { return s.Budgets.Delete(key) }
	}
	if now == nil {
		return gone(old)
	}
	converted, err := model.BudgetFrom(now)
	if err != nil {
		klog.ErrorS(err, "Leaving a budget out of scheduling", "podDisruptionBudget", klog.KObj(now))
		return gone(now)
	}
	return func(s *model.State) []model.Topic { return s.Budgets.Put(converted) }
}
