package sched_test

import (
	"math/rand"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/randfill"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// arbitrary returns a filler for objects with random fields, most of which the API server would
// reject. References match often enough for the fields to have an effect.
func arbitrary(seed int64) *randfill.Filler {
	texts := []string{
		"",
		"a",
		"a",
		"b",
		"a/b",
		"true",
		"device.driver == \"a\"",
		"All",
		"ExactCount",
		"NoSchedule",
		"Exists",
		"Equal",
		"In",
		"DoNotSchedule",
	}
	quantities := []string{"0", "1", "-1", "500m", "4", "1e30", "-1e30", "9223372036854775808", "1n", "1e2000000000"}
	return randfill.New().RandSource(rand.NewSource(seed)).NilChance(0.4).NumElements(0, 3).MaxDepth(12).Funcs(
		func(s *string, c randfill.Continue) { *s = texts[c.Intn(len(texts))] },
		func(q *apiresource.Quantity, c randfill.Continue) {
			*q = apiresource.MustParse(quantities[c.Intn(len(quantities))])
		},
		func(n *int64, c randfill.Continue) { *n = []int64{0, 1, 1, 1, 2, -1, 1 << 62, -1 << 63}[c.Intn(8)] },
		func(n *int32, c randfill.Continue) { *n = []int32{0, 1, 1, 2, -1, 1 << 30}[c.Intn(6)] },
		func(b *bool, c randfill.Continue) { *b = c.Intn(2) == 0 },
		func(m *metav1.ObjectMeta, c randfill.Continue) { m.Name, m.Namespace = "a", "ns" },
		func(*runtime.RawExtension, randfill.Continue) {},
	)
}

// TestArbitraryObjectsDoNotPanic converts and places arbitrary objects (P32).
func TestArbitraryObjectsDoNotPanic(t *testing.T) {
	const worlds = 200
	placed := 0
	for seed := range int64(worlds) {
		if placeArbitrary(t, seed) {
			placed++
		}
	}
	t.Logf("%d of %d placed", placed, worlds)
}

func placeArbitrary(t *testing.T, seed int64) bool {
	defer func() {
		if cause := recover(); cause != nil {
			t.Errorf("seed %d", seed)
			panic(cause)
		}
	}()
	f := arbitrary(seed)
	state := model.NewState()
	for range 2 {
		node, class, slice := &corev1.Node{}, &resourcev1.DeviceClass{}, &resourcev1.ResourceSlice{}
		claim, group := &resource.ResourceClaim{}, &scheduling.PodGroup{}
		f.Fill(node)
		f.Fill(&class.Spec)
		f.Fill(&slice.Spec)
		f.Fill(&claim.Spec)
		f.Fill(&group.Spec)
		class.Name, slice.Name, group.Name, group.Namespace = "a", "a", "a", "ns"
		claim.Name, claim.Namespace = "a", "ns"
		slice.Spec.Pool.ResourceSliceCount = 1
		if seed%2 == 0 {
			node.Spec, node.Status.Allocatable = corev1.NodeSpec{}, corev1.ResourceList{
				"cpu":  apiresource.MustParse("4"),
				"pods": apiresource.MustParse("10"),
			}
			slice.Spec.NodeSelector, slice.Spec.AllNodes, slice.Spec.PerDeviceNodeSelection = nil, nil, nil
		}
		state.Nodes.Put(model.NodeFrom(node))
		state.Classes.Put(model.ClassFrom(class))
		state.Devices.PutSlice(model.SliceFrom(slice))
		state.Claims.Put(model.ClaimFrom(claim))
		state.Groups.Put(model.GroupFrom(group))
	}
	placed := false
	for _, name := range []string{"a", "b", "c"} {
		pod := &core.Pod{}
		f.Fill(&pod.Spec)
		pod.Name, pod.Namespace = name, "ns"
		pod.Spec.NodeName, pod.Spec.SchedulingGates = "", nil
		if seed%2 == 0 {
			pod.Spec.NodeSelector, pod.Spec.Affinity, pod.Spec.TopologySpreadConstraints = nil, nil, nil
			pod.Spec.Containers, pod.Spec.SchedulingGroup = nil, nil
		}
		converted, err := model.PodFrom(pod, []model.PodClaim{{Entry: "a", Claim: "a"}})
		if err != nil {
			continue
		}
		state.Pods.Put(converted)
		plan, _ := sched.NewPlacer(state, 2000).Try(converted.UnitKey())
		placed = placed || plan != nil
		if plan != nil {
			plan.Assume(state)
		}
	}
	if err := state.Audit(); err != nil {
		t.Errorf("seed %d: %v", seed, err)
	}
	return placed
}
