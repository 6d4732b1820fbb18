package model_test

import (
	"fmt"
	"math/big"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/allot-dev/allot/internal/model"
)

// TestFreeIsExact adds pods with amounts of any size to a node, removes them, and changes the
// node's allocatable resources. The free amount always is allocatable minus used, limited to the
// range of int64.
func TestFreeIsExact(t *testing.T) {
	amounts := rapid.OneOf(rapid.Int64Range(0, 1<<63-1),
		rapid.SampledFrom([]int64{0, 1, 1 << 61, 1 << 62, model.MaxSupply, model.MaxAmount}))
	rapid.Check(t, func(t *rapid.T) {
		state := model.NewState()
		has := int64(0)
		pods := map[string]int64{}
		for range rapid.IntRange(1, 12).Draw(t, "changes") {
			name := fmt.Sprint("p", rapid.IntRange(0, 4).Draw(t, "pod"))
			switch _, there := pods[name]; {
			case rapid.IntRange(0, 3).Draw(t, "node") == 0:
				has = min(amounts.Draw(t, "has"), model.MaxSupply)
				state.Nodes.Put(&model.Node{Name: "n", Allocatable: model.Resources{corev1.ResourceMemory: has}})
			case there:
				delete(pods, name)
				state.Pods.Delete(model.Key{Name: name})
			default:
				pods[name] = amounts.Draw(t, "takes")
				shape := &model.Shape{Requests: model.Resources{corev1.ResourceMemory: pods[name]}}
				state.Pods.Put(&model.Pod{Key: model.Key{Name: name}, Node: "n", Shape: shape})
			}
			want := big.NewInt(has)
			for _, takes := range pods {
				want.Sub(want, big.NewInt(takes))
			}
			state.Pods.Put(
				&model.Pod{Key: model.Key{Name: "none"}, Node: "n", Shape: &model.Shape{}},
			) // so that the node is known
			if _, known := state.Nodes.Get("n"); !known {
				continue
			}
			info, _ := state.Nodes.Get("n")
			if got := info.Free[corev1.ResourceMemory]; got != clamp(want) {
				t.Fatalf("the node has %d, its pods %v: got %d free, want %d", has, pods, got, clamp(want))
			}
		}
	})
}
