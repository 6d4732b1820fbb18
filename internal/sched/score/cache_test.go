package score

import (
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/nodefit"
)

// countingExaminer finds all nodes feasible on which the shape fits, and counts the nodes that it
// examines.
type countingExaminer struct {
	state    *model.State
	shape    *Shape
	examined int
}

func (e *countingExaminer) Examine(info *model.NodeInfo) (devices int, alternatives int64, result Result) {
	e.examined++
	if e.shape.Dynamic(e.state, info).Failed() {
		return 0, 0, Excluded
	}
	return 0, 0, Fits
}

func (e *countingExaminer) IsCounted(*model.NodeInfo) bool { return true }

// For many nodes, a unit examines only those that the unit before it has changed (R29): the cached
// results for the others are not computed again.
func TestExaminesChangedNodes(t *testing.T) {
	state := model.NewState()
	for i := range 100 {
		state.Nodes.Put(&model.Node{Name: fmt.Sprintf("n%02d", i), Allocatable: model.Resources{corev1.ResourceCPU: 4000}})
	}
	requests := &model.Shape{ID: "shape", Requests: model.Resources{corev1.ResourceCPU: 1000}}
	shape := NewShape(nodefit.New(state, requests))
	sets, cache := nodefit.NewCache(state), NewCache(state)
	place := func(n int) (ranking *Ranking, examined int) {
		key := model.Key{Name: fmt.Sprint("pod-", n)}
		state.Pods.Put(&model.Pod{Key: key, Shape: requests})
		e := &countingExaminer{state: state, shape: shape}
		if ranking = cache.RankAll(&Input{State: state, Shape: shape}, sets.Suitable(shape.Fitter), e); ranking != nil {
			state.Pods.Assume(key, ranking.At(0).Name)
		}
		return ranking, e.examined
	}
	if ranking, _ := place(0); ranking != nil {
		t.Error("a ranking is kept for the first pod of a shape")
	}
	if ranking, examined := place(1); ranking == nil || examined != 100 {
		t.Fatalf("%d nodes were examined for the second pod of a shape, should be all 100", examined)
	}
	for n := 2; n < 5; n++ {
		if _, examined := place(n); examined != 1 {
			t.Errorf("%d nodes were examined, should be the one with the pod before", examined)
		}
	}
}

// The key of a cached ranking has a part for each dependency of the preferences that apply, and
// there is no key if one of these can change with other nodes.
func TestKeyFollowsDependencies(t *testing.T) {
	state := model.NewState()
	shape := NewShape(nodefit.New(state, &model.Shape{ID: "shape"}))
	plain := Input{State: state, Shape: shape}
	first, ok := plain.key()
	if !ok {
		t.Fatal("a ranking by load cannot be kept")
	}
	for name, in := range map[string]Input{
		"packing": {State: state, Shape: shape, Packs: true},
		"devices": {State: state, Shape: shape, Devices: true, CountKey: "gpu"},
		"images":  {State: state, Shape: shape, images: &images{key: "image"}},
	} {
		if other, ok := in.key(); !ok || other == first {
			t.Errorf("%s: key %q, %t, should be another one than %q", name, other, ok, first)
		}
	}
	for name, in := range map[string]Input{
		"taints":           {State: state, Shape: shape, taints: true},
		"uncounted device": {State: state, Shape: shape, Devices: true},
	} {
		if key, ok := in.key(); ok {
			t.Errorf("%s: a ranking is kept under %q", name, key)
		}
	}
}

// The document lists the preferences in the order of the table.
func TestDocumentListsPreferences(t *testing.T) {
	const name = "../../../docs/how-nodes-are-chosen.md"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if want := document(); !strings.Contains(string(text), want) {
		t.Errorf("%s does not contain the table of preferences:\n%s", name, want)
	}
}
