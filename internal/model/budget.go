package model

import (
	"fmt"
	"slices"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// BudgetStore holds the PodDisruptionBudgets.
type BudgetStore struct {
	byNamespace map[string][]*Budget // sorted by name in each namespace
	log         *undoLog
}

func newBudgetStore(log *undoLog) BudgetStore {
	return BudgetStore{byNamespace: map[string][]*Budget{}, log: log}
}

// Budget is a PodDisruptionBudget.
type Budget struct {
	Key      Key
	UID      types.UID
	Version  uint64
	Selector labels.Selector
	Allowed  int             // number of its pods that may still be disrupted
	Granted  map[string]bool // names of pods whose disruption is already counted in Allowed
}

// BudgetFrom converts a PodDisruptionBudget.
func BudgetFrom(budget *policyv1.PodDisruptionBudget) (*Budget, error) {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return nil, fmt.Errorf("poddisruptionbudget %s/%s: %w", budget.Namespace, budget.Name, err)
	}
	b := &Budget{
		Key: KeyOf(budget), UID: budget.UID, Version: versionOf(budget), Selector: selector,
		Allowed: int(budget.Status.DisruptionsAllowed), Granted: map[string]bool{},
	}
	for pod := range budget.Status.DisruptedPods {
		b.Granted[pod] = true
	}
	return b, nil
}

// Covers reports whether the pod's disruption counts against the budget. An empty selector selects
// all pods of the namespace (policy/v1).
func (b *Budget) Covers(pod *Pod) bool {
	return b.Key.Namespace == pod.Key.Namespace && !b.Granted[pod.Key.Name] &&
		b.Selector.Matches(labels.Set(pod.Shape.Labels))
}

// List returns the budgets of a namespace, by name.
func (s *BudgetStore) List(namespace string) []*Budget { return s.byNamespace[namespace] }

// Put adds or replaces a budget. It wakes no unit, because budgets only influence the choice of
// victims.
func (s *BudgetStore) Put(budget *Budget) []Topic {
	list := s.byNamespace[budget.Key.Namespace]
	at, known := slices.BinarySearchFunc(list, budget.Key.Name, byName)
	if known && outdated(list[at].UID, budget.UID, list[at].Version, budget.Version) {
		return nil
	}
	list = slices.Clone(list)
	if known {
		list[at] = budget
	} else {
		list = slices.Insert(list, at, budget)
	}
	s.set(budget.Key.Namespace, list)
	return nil
}

// Delete removes a budget.
func (s *BudgetStore) Delete(key Key) []Topic {
	list := s.byNamespace[key.Namespace]
	if at, known := slices.BinarySearchFunc(list, key.Name, byName); known {
		s.set(key.Namespace, slices.Delete(slices.Clone(list), at, at+1))
	}
	return nil
}

func byName(b *Budget, name string) int { return compareStrings(b.Key.Name, name) }

func (s *BudgetStore) set(namespace string, list []*Budget) {
	old := s.byNamespace[namespace]
	s.log.record(func() { s.set(namespace, old) })
	if len(list) == 0 {
		delete(s.byNamespace, namespace)
		return
	}
	s.byNamespace[namespace] = list
}
