package cluster

import (
	"testing"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/testkit/memcache"
)

// The allowed disruptions of budgets follow the caches. A budget with an invalid selector protects
// nothing.
func TestBudgetsFollowTheCache(t *testing.T) {
	w, budgets := newWorld(t), memcache.New[*policyv1.PodDisruptionBudget]()
	feed, err := NewFeed(Caches{
		Pods: w.pods, PodGroups: w.groups, Claims: w.claims, Nodes: w.nodes, Namespaces: w.namespaces, Classes: w.classes,
		Slices: w.slices, Budgets: budgets,
	}, "default-scheduler")
	if err != nil {
		t.Fatal(err)
	}
	budget := &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "b", ResourceVersion: "1"}}
	budget.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}}
	budget.Status = policyv1.PodDisruptionBudgetStatus{
		DisruptionsAllowed: 2,
		DisruptedPods:      map[string]metav1.Time{"granted": {}},
	}
	budgets.Put(budget)
	feed.Apply(w.state)
	web := &model.Shape{Labels: map[string]string{"app": "web"}}
	list := w.state.Budgets.List(ns)
	if len(list) != 1 || list[0].Allowed != 2 {
		t.Fatalf("the budgets are %+v", list)
	}
	for name, covered := range map[string]bool{"granted": false, "other": true} {
		if got := list[0].Covers(&model.Pod{Key: model.Key{Namespace: ns, Name: name}, Shape: web}); got != covered {
			t.Errorf("covers pod %s: %v", name, got)
		}
	}
	if list[0].Covers(&model.Pod{Key: model.Key{Namespace: ns, Name: "db"}, Shape: &model.Shape{}}) {
		t.Error("covers a pod that it does not select")
	}

	broken := budget.DeepCopy()
	broken.ResourceVersion = "2"
	broken.Spec.Selector.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "app", Operator: "near"}}
	budgets.Put(broken)
	if feed.Apply(w.state); len(w.state.Budgets.List(ns)) != 0 {
		t.Errorf("the budgets are %+v", w.state.Budgets.List(ns))
	}
	budgets.Put(budget)
	feed.Apply(w.state)
	budgets.Delete(ns, "b")
	if feed.Apply(w.state); len(w.state.Budgets.List(ns)) != 0 {
		t.Errorf("the budgets are %+v", w.state.Budgets.List(ns))
	}
}
