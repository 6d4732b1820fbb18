package sched_test

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/preempt"
)

// A claim that a victim uses can be freed although it is also reserved for a pod that was deleted
// or has finished, because the claim controller removes that consumer. If another consumer still
// exists, it keeps the claim, and no pod is evicted for the claim.
func TestPreemptionIgnoresDeletedConsumers(t *testing.T) {
	finished, running := bigPod(t, "finished", ""), bigPod(t, "running", "")
	finished.Finished, running.Node, running.Priority = true, "node-0000", 2000
	group := gang("group", 2)
	for _, test := range []struct {
		name     string
		consumer model.Consumer
		leaves   bool
	}{
		{"a pod that is not there", model.PodConsumer("nobody", "1"), true},
		{"a pod that has finished", model.PodConsumer("finished", finished.UID), true},
		{"a pod that was made anew under its name", model.PodConsumer("running", "old"), true},
		{"a group that is not there", model.GroupConsumer("nobody", "1"), true},
		{"a group that was made anew under its name", model.GroupConsumer("group", "old"), true},
		{"a pod that runs", model.PodConsumer("running", running.UID), false},
		{"a workload", model.Consumer{APIGroup: "example.com", Resource: "workloads", Name: "w", UID: "1"}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := bigState(1, 1)
			state.Groups.Put(group)
			state.Pods.Put(finished)
			state.Pods.Put(running)
			low := bigPod(t, "low", "", model.PodClaim{Entry: "c", Claim: "low"})
			low.Node = "node-0000"
			state.Pods.Put(low)
			held := claimOf("low", "gpu")
			device := resourcev1.DeviceRequestAllocationResult{Request: "r", Driver: gpus, Pool: "node-0000", Device: "gpu-0"}
			held.Allocation = &model.Allocation{Devices: []resourcev1.DeviceRequestAllocationResult{device}}
			held.Consumers = []model.Consumer{model.PodConsumer("low", low.UID), test.consumer}
			state.Claims.Put(held)
			state.Claims.Put(claimOf("high", "gpu"))
			high := bigPod(t, "high", "", model.PodClaim{Entry: "c", Claim: "high"})
			high.Priority = 1000
			state.Pods.Put(high)
			placer := sched.NewPlacer(state, sched.DefaultSteps)
			unit, _ := state.Unit(unitKey(false, "high"))
			plan, reasons := placer.Place(unit)
			if plan != nil {
				t.Fatal("there is a place without preemption")
			}
			made := placer.Preempt(unit, reasons, preempt.Input{})
			if leaves := made != nil; leaves != test.leaves {
				t.Errorf("a pod leaves: %t, want %t (%v)", leaves, test.leaves, reasons)
			}
		})
	}
}

func claimOf(name, class string) *model.Claim {
	return &model.Claim{
		Key: unitKey(
			false, name,
		).Key, UID: "claim-of", Requests: []model.Request{{Name: "r",
			Alternatives: []model.Alternative{{Class: class, Count: 1}}}},
	}
}
