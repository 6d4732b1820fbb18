package sched_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// Run by hand: go test -run '^$' -bench . ./internal/sched

func meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("uid-" + name)}
}

func bigState(nodes, devices int) *model.State {
	state := model.NewState()
	for i := range nodes {
		name := fmt.Sprintf("node-%04d", i)
		node := &corev1.Node{ObjectMeta: meta(name)}
		node.Labels = map[string]string{corev1.LabelHostname: name}
		node.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: quantity.MustParse(
				"4",
			), corev1.ResourceMemory: quantity.MustParse("32Gi"), corev1.ResourcePods: quantity.MustParse("110"),
		}
		state.Nodes.Put(model.NodeFrom(node))
		if devices > 0 {
			state.Devices.PutSlice(model.SliceFrom(slice(name, devices)))
		}
	}
	state.Classes.Put(model.ClassFrom(&resourcev1.DeviceClass{ObjectMeta: meta("gpu"), Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "gpu.example.com"`}},
		},
	}}))
	return state
}

func slice(node string, devices int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: meta(node)}
	s.Spec.Driver, s.Spec.NodeName = "gpu.example.com", &node
	s.Spec.Pool = resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1}
	for i := range devices {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("gpu-%d", i)})
	}
	return s
}

func bigPod(b testing.TB, name, group string, claims ...model.PodClaim) *model.Pod {
	pod := &core.Pod{ObjectMeta: meta(name)}
	pod.Spec.Containers = []corev1.Container{
		{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: quantity.MustParse("100m"), corev1.ResourceMemory: quantity.MustParse("100Mi"),
		}}},
	}
	if group != "" {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	}
	converted, err := model.PodFrom(pod, claims)
	if err != nil {
		b.Fatal(err)
	}
	return converted
}

func bigClaim(name string) *model.Claim {
	claim := &resource.ResourceClaim{ObjectMeta: meta(name)}
	claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "g", Exactly: &resourcev1.ExactDeviceRequest{
		DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 1,
	}}}
	return model.ClaimFrom(claim)
}

func gang(name string, count int32) *model.Group {
	group := &scheduling.PodGroup{ObjectMeta: meta(name)}
	group.Spec.SchedulingPolicy.Gang = &schedulingv1beta1.GangSchedulingPolicy{MinCount: count}
	return model.GroupFrom(group)
}

// mustPlan places a unit and assumes its plan.
func mustPlan(b testing.TB, placer *sched.Placer, state *model.State, key model.UnitKey) {
	plan, reasons := placer.Try(key)
	if plan == nil {
		b.Fatal(reasons)
	}
	plan.Assume(state)
}

func unitKey(group bool, name string) model.UnitKey {
	return model.UnitKey{Group: group, Key: model.Key{Namespace: "default", Name: name}}
}

// Nine gangs of 1,000 pods on 5,000 nodes, without claims.
func BenchmarkGangs(b *testing.B) { benchmarkGangs(b, 9, 1000) }

// 1,000 gangs of 3 on 5,000 nodes.
func BenchmarkSmallGangs(b *testing.B) { benchmarkGangs(b, 1000, 3) }

// The first gang of 3 on 5,000 nodes, with empty caches.
func BenchmarkFirstGang(b *testing.B) { benchmarkGangs(b, 1, 3) }

func benchmarkGangs(b *testing.B, gangs int, size int32) {
	for range b.N {
		b.StopTimer()
		state := bigState(5000, 0)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		for g := range gangs {
			name := fmt.Sprintf("gang-%04d", g)
			state.Groups.Put(gang(name, size))
			for i := range size {
				state.Pods.Put(bigPod(b, fmt.Sprintf("%s-%04d", name, i), name))
			}
		}
		b.StartTimer()
		for g := range gangs {
			mustPlan(b, placer, state, unitKey(true, fmt.Sprintf("gang-%04d", g)))
		}
	}
}

// 2,500 single pods with a claim each, on 500 nodes with 8 devices each.
func BenchmarkClaimEach(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(500, 8)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		for i := range 2500 {
			name := fmt.Sprintf("pod-%04d", i)
			state.Claims.Put(bigClaim(name))
			state.Pods.Put(bigPod(b, name, "", model.PodClaim{Entry: "g", Claim: name}))
		}
		b.StartTimer()
		for i := range 2500 {
			mustPlan(b, placer, state, unitKey(false, fmt.Sprintf("pod-%04d", i)))
		}
	}
}

// A gang of 1,000 with a claim each on 500 nodes with 8 devices each.
func BenchmarkGangClaimEach(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(500, 8)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		state.Groups.Put(gang("gang", 1000))
		for i := range 1000 {
			name := fmt.Sprintf("pod-%04d", i)
			state.Claims.Put(bigClaim(name))
			state.Pods.Put(bigPod(b, name, "gang", model.PodClaim{Entry: "g", Claim: name}))
		}
		b.StartTimer()
		mustPlan(b, placer, state, unitKey(true, "gang"))
	}
}

// 100 single pods, one after the other, on 5,000 nodes.
func BenchmarkPodsAlone(b *testing.B) {
	state := bigState(5000, 0)
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	for range b.N {
		for i := range 100 {
			name := fmt.Sprintf("pod-%04d", i)
			state.Pods.Put(bigPod(b, name, ""))
			mustPlan(b, placer, state, unitKey(false, name))
		}
		b.StopTimer()
		for i := range 100 {
			state.Pods.Delete(unitKey(false, fmt.Sprintf("pod-%04d", i)).Key)
		}
		b.StartTimer()
	}
}

// A gang whose 1,001st member has no device, so that it cannot be placed.
func BenchmarkRefusal(b *testing.B) {
	state := bigState(500, 2)
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	state.Groups.Put(gang("gang", 1001))
	for i := range 1001 {
		name := fmt.Sprintf("pod-%04d", i)
		state.Claims.Put(bigClaim(name))
		state.Pods.Put(bigPod(b, name, "gang", model.PodClaim{Entry: "g", Claim: name}))
	}
	for range b.N {
		if plan, _ := placer.Try(unitKey(true, "gang")); plan != nil {
			b.Fatal("placed 1,001 pods on 1,000 devices")
		}
	}
}

// A gang that shares a claim, and for which none of 5,000 nodes has enough resources.
func BenchmarkSharedRefusal(b *testing.B) {
	state := bigState(5000, 2)
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	state.Groups.Put(gang("gang", 64))
	state.Claims.Put(bigClaim("shared"))
	for i := range 64 {
		state.Pods.Put(
			bigPod(b, fmt.Sprintf("pod-%04d", i), "gang", model.PodClaim{Entry: "s", Claim: "shared", Group: true}),
		)
	}
	for range b.N {
		if plan, reasons := placer.Try(unitKey(true, "gang")); plan != nil || reasons.Code != sched.CodeUnschedulable {
			b.Fatal(reasons)
		}
	}
}

// 100 basic groups of 50 pods, each with a claim for a device that all nodes can use, on 50 nodes.
func BenchmarkSharedGroups(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(50, 0)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		fabric := slice("fabric", 100)
		all := true
		fabric.Spec.NodeName, fabric.Spec.AllNodes = nil, &all
		state.Devices.PutSlice(model.SliceFrom(fabric))
		for g := range 100 {
			name := fmt.Sprintf("group-%03d", g)
			group := gang(name, 1)
			group.Gang = false
			state.Groups.Put(group)
			state.Claims.Put(bigClaim(name))
			for i := range 50 {
				pod := bigPod(b, fmt.Sprintf("%s-%d", name, i), name, model.PodClaim{Entry: "s", Claim: name, Group: true})
				pod.Shape.Requests = model.Resources{corev1.ResourcePods: 1}
				state.Pods.Put(pod)
			}
		}
		b.StartTimer()
		for g := range 100 {
			mustPlan(b, placer, state, unitKey(true, fmt.Sprintf("group-%03d", g)))
		}
	}
}

// One gang of 9,216 pods on 2,304 nodes, which share a device that all the nodes can use.
func BenchmarkHugeGang(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(2304, 0)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		fabric := slice("fabric", 1)
		all := true
		fabric.Spec.NodeName, fabric.Spec.AllNodes = nil, &all
		state.Devices.PutSlice(model.SliceFrom(fabric))
		state.Groups.Put(gang("gang", 9216))
		state.Claims.Put(bigClaim("shared"))
		for i := range 9216 {
			pod := bigPod(b, fmt.Sprintf("pod-%05d", i), "gang", model.PodClaim{Entry: "s", Claim: "shared", Group: true})
			pod.Shape.Requests[corev1.ResourceCPU] = 1000
			state.Pods.Put(pod)
		}
		b.StartTimer()
		mustPlan(b, placer, state, unitKey(true, "gang"))
	}
}

// withTerms makes the pods of a gang prefer to be together, or to be spread.
func withTerms(b *testing.B, name string, change func(*core.Pod)) *model.Pod {
	pod := &core.Pod{ObjectMeta: meta(name)}
	group := "gang"
	pod.Labels = map[string]string{"app": "a"}
	pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	pod.Spec.Containers = []corev1.Container{
		{
			Name:      "c",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: quantity.MustParse("1")}},
		},
	}
	change(pod)
	converted, err := model.PodFrom(pod, nil)
	if err != nil {
		b.Fatal(err)
	}
	return converted
}

func benchTerms(b *testing.B, change func(*core.Pod)) {
	for range b.N {
		b.StopTimer()
		state := bigState(5000, 0)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		state.Groups.Put(gang("gang", 100))
		for i := range 100 {
			state.Pods.Put(withTerms(b, fmt.Sprintf("pod-%03d", i), change))
		}
		b.StartTimer()
		mustPlan(b, placer, state, unitKey(true, "gang"))
	}
}

// A gang of 100 that prefers to be spread over the hosts, on 5,000 nodes.
func BenchmarkSoftSpread(b *testing.B) {
	benchTerms(b, func(pod *core.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		}}
	})
}

// A gang of 100 that must be spread over the hosts, on 5,000 nodes.
func BenchmarkHardSpread(b *testing.B) {
	benchTerms(b, func(pod *core.Pod) {
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "a"}},
		}}
	})
}

// 1,000 gangs that need more resources than any node has, while a pod terminates: measures what
// waking costs, although none of them is woken.
func BenchmarkParked(b *testing.B) {
	state := bigState(1000, 0)
	placer, q := sched.NewPlacer(state, sched.DefaultSteps), queue.New()
	parkGangs(b, state, placer, q, 1000)
	pod := bigPod(b, "ends", "")
	pod.Node = "node-0000"
	b.ResetTimer()
	for range b.N {
		state.Pods.Put(pod)
		q.Wake(state.Pods.Delete(pod.Key))
	}
	if ready, _ := q.Len(); ready > 0 {
		b.Fatal(ready, "were woken in vain")
	}
}

// parkGangs tries gangs of two pods that are larger than a node.
func parkGangs(b testing.TB, state *model.State, placer *sched.Placer, q *queue.Queue, n int) {
	for g := range n {
		name := fmt.Sprintf("hopeless-%04d", g)
		state.Groups.Put(gang(name, 2))
		for i := range 2 {
			pod := bigPod(b, fmt.Sprintf("%s-%d", name, i), name)
			pod.Shape.Requests[corev1.ResourceCPU] = 5000
			state.Pods.Put(pod)
		}
		unit, _ := state.Unit(unitKey(true, name))
		plan, reasons := placer.Place(unit)
		if plan != nil {
			b.Fatal("a gang has a place that is too large for all nodes")
		}
		q.ParkUntil(queue.EntryOf(unit), reasons.Topics(),
			func(topic model.Topic) bool { return reasons.Helps(state, topic) })
	}
}

// Nine gangs of 1,000 plain pods, as above, and 1,000 workloads with required anti-affinity and
// preferred affinity.
func BenchmarkGangsAmongTerms(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(5000, 0)
		for i := range 1000 {
			app := &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprint("app-", i)}}
			pod := withTerms(b, fmt.Sprintf("term-%04d", i), func(pod *core.Pod) {
				pod.Labels = app.MatchLabels
				pod.Spec.SchedulingGroup = nil
				pod.Spec.NodeName = fmt.Sprintf("node-%04d", i)
				term := corev1.PodAffinityTerm{TopologyKey: corev1.LabelHostname, LabelSelector: app}
				pod.Spec.Affinity = &corev1.Affinity{
					PodAntiAffinity: &corev1.PodAntiAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term},
					},
					PodAffinity: &corev1.PodAffinity{
						PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
							{Weight: 1, PodAffinityTerm: term},
						},
					},
				}
			})
			state.Pods.Put(pod)
		}
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		for g := range 9 {
			name := fmt.Sprintf("gang-%d", g)
			state.Groups.Put(gang(name, 1000))
			for i := range 1000 {
				state.Pods.Put(bigPod(b, fmt.Sprintf("%s-%04d", name, i), name))
			}
		}
		b.StartTimer()
		for g := range 9 {
			mustPlan(b, placer, state, unitKey(true, fmt.Sprintf("gang-%d", g)))
		}
	}
}

// 100 single pods, one after the other, on 5,000 nodes that all have their image.
func BenchmarkPodsWithImage(b *testing.B) {
	state := bigState(5000, 0)
	for _, info := range state.Nodes.List() {
		node := *info.Node
		node.Images = []corev1.ContainerImage{{Names: []string{"app:1"}, SizeBytes: 1 << 30}}
		state.Nodes.Put(&node)
	}
	benchmarkHundred(b, state, func(pod *model.Pod) { pod.Shape.Images = []string{"app:1"} })
}

// 100 pods of a ReplicaSet, one after the other, on 5,000 nodes.
func BenchmarkReplicas(b *testing.B) {
	state := bigState(5000, 0)
	benchmarkHundred(b, state, func(pod *model.Pod) { pod.Set = "set" })
}

// benchmarkHundred places 100 pods, one after the other.
func benchmarkHundred(b *testing.B, state *model.State, edit func(*model.Pod)) {
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	for range b.N {
		for i := range 100 {
			name := fmt.Sprintf("pod-%04d", i)
			pod := bigPod(b, name, "")
			edit(pod)
			state.Pods.Put(pod)
			mustPlan(b, placer, state, unitKey(false, name))
		}
		b.StopTimer()
		for i := range 100 {
			state.Pods.Delete(unitKey(false, fmt.Sprintf("pod-%04d", i)).Key)
		}
		b.StartTimer()
	}
}

// 100 single pods, one after the other, that all have different requests, on 5,000 nodes.
func BenchmarkShapes(b *testing.B) {
	state := bigState(5000, 0)
	n := int64(0)
	benchmarkHundred(b, state, func(pod *model.Pod) {
		n++
		pod.Shape.ID = fmt.Sprint("shape-", n)
		pod.Shape.Requests[corev1.ResourceMemory] = n << 20
	})
}

// 100 pods of a ReplicaSet, one after the other, on 5,000 nodes of three zones.
func BenchmarkReplicasInZones(b *testing.B) {
	state := bigState(5000, 0)
	for i, info := range state.Nodes.List() {
		node := *info.Node
		node.Labels = map[string]string{corev1.LabelTopologyZone: fmt.Sprint("zone-", i%3)}
		state.Nodes.Put(&node)
	}
	benchmarkHundred(b, state, func(pod *model.Pod) { pod.Set = "set" })
}

// 1,000 gangs of 3 pods with a claim each, on 5,000 nodes with 2 devices each.
func BenchmarkSmallGangsClaimEach(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(5000, 2)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		for g := range 1000 {
			name := fmt.Sprintf("gang-%04d", g)
			state.Groups.Put(gang(name, 3))
			for i := range 3 {
				pod := fmt.Sprintf("%s-%d", name, i)
				state.Claims.Put(bigClaim(pod))
				state.Pods.Put(bigPod(b, pod, name, model.PodClaim{Entry: "g", Claim: pod}))
			}
		}
		b.StartTimer()
		for g := range 1000 {
			mustPlan(b, placer, state, unitKey(true, fmt.Sprintf("gang-%04d", g)))
		}
	}
}
