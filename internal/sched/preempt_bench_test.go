package sched_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/preempt"
)

// fullState returns 2,500 nodes that are full with 10,000 pods of low priority.
func fullState(b *testing.B) *model.State {
	state := bigState(2500, 0)
	for i, info := range state.Nodes.List() {
		for n := range 4 {
			name := fmt.Sprintf("low-%04d-%d", i, n)
			pod := plainPod(b, name, "", int32(n))
			pod.Node = info.Name
			state.Pods.Put(pod)
		}
	}
	return state
}

func plainPod(b *testing.B, name, group string, priority int32) *model.Pod {
	pod := bigPod(b, name, group)
	shape := *pod.Shape
	shape.Requests = model.Resources{corev1.ResourceCPU: 1000, corev1.ResourcePods: 1}
	pod.Priority, pod.Shape = priority, &shape
	return pod
}

// Preemption for one pod, and for a gang of 500.
func BenchmarkPreemption(b *testing.B) {
	for _, members := range []int{1, 500} {
		b.Run(fmt.Sprint(members), func(b *testing.B) {
			state := fullState(b)
			state.Groups.Put(gang("high", int32(members)))
			for i := range members {
				state.Pods.Put(plainPod(b, fmt.Sprint("high-", i), "high", 1000))
			}
			placer := sched.NewPlacer(state, sched.DefaultSteps)
			unit, _ := state.Unit(unitKey(true, "high"))
			for range b.N {
				_, reasons := placer.Place(unit)
				if made := placer.Preempt(unit, reasons, preempt.Input{}); made == nil || made.Pods() != members {
					b.Fatal(reasons, made.Pods())
				}
			}
		})
	}
}

// Preemption for one pod with a device, where the victims are members of a gang of 9,216 that has
// more members than minCount and shares one claim.
func BenchmarkPreemptionInLargeGang(b *testing.B) {
	state := bigState(2304, 1)
	low := gang("low", 9000)
	state.Groups.Put(low)
	for i, info := range state.Nodes.List() {
		for n := range 4 {
			pod := plainPod(b, fmt.Sprintf("low-%04d-%d", i, n), "low", 0)
			pod.Node, pod.Claims = info.Name, []model.PodClaim{{Entry: "e", Claim: "shared", Group: true}}
			state.Pods.Put(pod)
		}
	}
	shared := bigClaim("shared")
	shared.Allocation = &model.Allocation{
		Devices: []resourcev1.DeviceRequestAllocationResult{
			{Request: "g", Driver: "gpu.example.com", Pool: "rack", Device: "d"},
		},
	}
	shared.Consumers = []model.Consumer{model.GroupConsumer(low.Key.Name, low.UID)}
	state.Claims.Put(shared)
	benchmarkRoomForDevice(b, state, func(made *preempt.Result) bool { return made.Pods() == 1 })
}

// Preemption for one pod with a device that all nodes can use, and that one of 2,304 pods of low
// priority on as many nodes has.
func BenchmarkPreemptionForFabricDevice(b *testing.B) {
	state := bigState(2304, 0)
	fabric := slice("fabric", 2304)
	all := true
	fabric.Spec.NodeName, fabric.Spec.AllNodes = nil, &all
	state.Devices.PutSlice(model.SliceFrom(fabric))
	for i, info := range state.Nodes.List() {
		name := fmt.Sprintf("low-%04d", i)
		claim := bigClaim(name)
		claim.Allocation = &model.Allocation{
			Devices: []resourcev1.DeviceRequestAllocationResult{
				{Request: "g", Driver: "gpu.example.com", Pool: "fabric", Device: fmt.Sprint("gpu-", i)},
			},
		}
		pod := plainPod(b, name, "", int32(i%7))
		pod.Node, pod.Claims = info.Name, []model.PodClaim{{Entry: "e", Claim: name}}
		claim.Consumers = []model.Consumer{model.PodConsumer(name, pod.UID)}
		state.Claims.Put(claim)
		state.Pods.Put(pod)
	}
	benchmarkRoomForDevice(b, state,
		func(made *preempt.Result) bool { return made.Pods() == 1 && made.Victims[0].Priority == 0 })
}

// benchmarkRoomForDevice measures preemption for one pod of high priority that requests a device.
func benchmarkRoomForDevice(b *testing.B, state *model.State, right func(*preempt.Result) bool) {
	state.Claims.Put(bigClaim("own"))
	high := plainPod(b, "high", "", 1000)
	high.Claims = []model.PodClaim{{Entry: "e", Claim: "own"}}
	state.Pods.Put(high)
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	unit, _ := state.Unit(unitKey(false, "high"))
	for range b.N {
		_, reasons := placer.Place(unit)
		if made := placer.Preempt(unit, reasons, preempt.Input{}); made == nil || !right(made) {
			b.Fatal(reasons)
		}
	}
}
