package sched

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
)

// Of many nodes, a unit looks at those that the one before it has changed (R29): what is remembered of the others is not made anew.
func TestLooksAtChangedNodes(t *testing.T) {
	state := model.NewState()
	for i := range 100 {
		state.Nodes.Put(&model.Node{Name: fmt.Sprintf("n%02d", i), Allocatable: model.Resources{corev1.ResourceCPU: 4000}})
	}
	placer := NewPlacer(state, DefaultSteps)
	shape := &model.Shape{ID: "shape", Requests: model.Resources{corev1.ResourceCPU: 1000}}
	place := func(n int) *kept {
		key := model.Key{Name: fmt.Sprint("pod-", n)}
		state.Pods.Put(&model.Pod{Key: key, Shape: shape})
		plan, reasons := placer.Try(model.UnitKey{Key: key})
		if plan == nil {
			t.Fatal(reasons)
		}
		plan.Assume(state)
		return placer.kept[keptKey{shape: shape.ID}]
	}
	if place(0) != nil {
		t.Error("a ranking is kept for the first pod of a shape")
	}
	ranking := place(1)
	if ranking == nil {
		t.Fatal("no ranking is kept for the second pod of a shape")
	}
	for i := range ranking.list {
		ranking.list[i].load += 1000
	}
	place(2)
	anew := 0
	for i := range ranking.list {
		if ranking.list[i].load < 1000 {
			anew++
		}
	}
	if anew != 1 {
		t.Errorf("%d nodes were looked at again, should be the one with the pod before", anew)
	}
}
