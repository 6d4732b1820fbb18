package registry

import (
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/allot-dev/allot/internal/apiserver/printers"
	"github.com/allot-dev/allot/internal/apiserver/rbac"
	"github.com/allot-dev/allot/internal/apiserver/validation"
)

// budgetResource is the resource in which the eviction of pods finds the budgets.
var budgetResource = schema.GroupResource{Group: policyv1.GroupName, Resource: "poddisruptionbudgets"}

func podDisruptionBudgets() entry {
	return &kind[policyv1.PodDisruptionBudget, *policyv1.PodDisruptionBudget]{
		names: names{
			group: budgetResource.Group, versions: v1, plural: budgetResource.Resource, singular: "poddisruptionbudget",
			short: []string{"pdb"},
		},
		newList:      func() runtime.Object { return &policyv1.PodDisruptionBudgetList{} },
		defaults:     noDefaults[*policyv1.PodDisruptionBudget],
		printer:      printers.PodDisruptionBudget,
		class:        rbac.ReadWrite,
		spec:         func(b *policyv1.PodDisruptionBudget) any { return &b.Spec },
		status:       func(b *policyv1.PodDisruptionBudget) any { return &b.Status },
		generation:   true,
		needsVersion: true,

		validate:       validation.ValidatePodDisruptionBudget,
		validateUpdate: validation.ValidatePodDisruptionBudgetUpdate,
		validateStatus: validation.ValidatePodDisruptionBudgetStatusUpdate,
	}
}
