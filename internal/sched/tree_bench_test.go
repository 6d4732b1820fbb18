package sched_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

// rackedState has nodes with four devices each, in domains of equal size.
func rackedState(domains, nodesEach int) *model.State {
	state := bigState(domains*nodesEach, 4)
	for i, info := range state.Nodes.List() {
		node := *info.Node
		node.Labels = map[string]string{
			corev1.LabelHostname: node.Name,
			"row":                "r",
			"domain":             fmt.Sprintf("d-%03d", i/nodesEach),
		}
		state.Nodes.Put(&node)
	}
	return state
}

// putTree puts a job of replicas, each in one domain: a leader, and workers with a device each.
func putTree(b testing.TB, state *model.State, name string, replicas, workers int, label string) {
	namespaced := func(name string) model.Key { return model.Key{Namespace: "default", Name: name} }
	job := &model.Composite{Key: namespaced(name), Gang: true, MinGroups: replicas}
	if label != "" {
		job.Topology = "row"
	}
	state.Groups.Composites.Put(job)
	for r := range replicas {
		replica := fmt.Sprintf("%s-%03d", name, r)
		state.Groups.Composites.Put(
			&model.Composite{Key: namespaced(replica), Parent: name, Gang: true, MinGroups: 2, Topology: label},
		)
		for part, size := range map[string]int{"leader": 1, "workers": workers} {
			group := gang(replica+"-"+part, int32(size))
			group.Parent = replica
			state.Groups.Put(group)
			for i := range size {
				pod := fmt.Sprintf("%s-%03d", group.Key.Name, i)
				member := bigPod(b, pod, group.Key.Name, model.PodClaim{Entry: "g", Claim: pod})
				claim := bigClaim(pod)
				claim.Controller = member.UID
				state.Claims.Put(claim)
				state.Pods.Put(member)
			}
		}
	}
}

func treeKey(name string) model.UnitKey {
	return model.UnitKey{Tree: true, Key: model.Key{Namespace: "default", Name: name}}
}

// A tree of 9,216 pods: 64 replicas of one leader and 143 workers, each in one domain of 36 nodes.
func BenchmarkTree(b *testing.B) {
	state := rackedState(64, 36)
	putTree(b, state, "job", 64, 143, "domain")
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	for b.Loop() {
		if plan, reasons := placer.Try(treeKey("job")); plan == nil || len(plan.Pods) != 9216 {
			b.Fatal(reasons)
		}
	}
}

// The same with one domain too few: the refusal.
func BenchmarkTreeRefusal(b *testing.B) {
	state := rackedState(63, 36)
	putTree(b, state, "job", 64, 143, "domain")
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	for b.Loop() {
		if plan, reasons := placer.Try(treeKey("job")); plan != nil || reasons.Code != sched.CodeUnschedulable {
			b.Fatal(reasons)
		}
	}
}

// 1,000 trees of one leader and four workers on 5,000 nodes, with a device each.
func BenchmarkSmallTrees(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(5000, 4)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		for t := range 1000 {
			putTree(b, state, fmt.Sprintf("tree-%04d", t), 1, 4, "")
		}
		b.StartTimer()
		for t := range 1000 {
			mustPlan(b, placer, state, treeKey(fmt.Sprintf("tree-%04d", t)))
		}
	}
}

// 1,000 gangs of five on 5,000 nodes, with a device each: what small trees are measured by.
func BenchmarkGangsOfFive(b *testing.B) {
	for range b.N {
		b.StopTimer()
		state := bigState(5000, 4)
		placer := sched.NewPlacer(state, sched.DefaultSteps)
		for g := range 1000 {
			name := fmt.Sprintf("gang-%04d", g)
			state.Groups.Put(gang(name, 5))
			for i := range 5 {
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
