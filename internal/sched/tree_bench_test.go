package sched_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"

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

// putTree adds a job of replicas, each in one domain: a leader, and workers with a device each.
func putTree(b testing.TB, state *model.State, name string, replicas, workers int, label string) {
	putTreeWith(b, state, name, replicas, workers, label, "")
}

// putTreeWith adds such a job. If class is set, the pods of each replica share a device of that
// class.
func putTreeWith(
	b testing.TB, state *model.State, name string, replicas, workers int, label, class string,
) {
	namespaced := func(name string) model.Key { return model.Key{Namespace: "default", Name: name} }
	job := &model.Composite{Key: namespaced(name), Gang: true, MinGroups: replicas}
	if label != "" {
		job.Topology = "row"
	}
	state.Groups.Composites.Put(job)
	for r := range replicas {
		replica := fmt.Sprintf("%s-%03d", name, r)
		state.Groups.Composites.Put(
			&model.Composite{
				Key: namespaced(replica), UID: types.UID(replica), Parent: name, Gang: true, MinGroups: 2, Topology: label,
			},
		)
		if class != "" {
			domain := bigClaim(replica + "-domain")
			domain.Requests[0].Alternatives[0].Class = class
			consumer := model.CompositeConsumer(replica, types.UID(replica))
			domain.Controller, domain.ReservedFor = types.UID(replica), &consumer
			state.Claims.Put(domain)
		}
		for part, size := range map[string]int{"leader": 1, "workers": workers} {
			group := gang(replica+"-"+part, int32(size))
			group.Parent = replica
			state.Groups.Put(group)
			for i := range size {
				pod := fmt.Sprintf("%s-%03d", group.Key.Name, i)
				uses := []model.PodClaim{{Entry: "g", Claim: pod}}
				if class != "" {
					uses = append(uses, model.PodClaim{Entry: "d", Claim: replica + "-domain", Group: true, Owner: group.UID})
				}
				member := bigPod(b, pod, group.Key.Name, uses...)
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

// The same with one domain too few, so that it cannot be placed.
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

// putDomainDevices puts a shared device for each domain.
func putDomainDevices(state *model.State, domains int) {
	state.Classes.Put(model.ClassFrom(&resourcev1.DeviceClass{
		ObjectMeta: meta("domain"), Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{
			{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "domain.example.com"`}},
		}},
	}))
	for i := range domains {
		s := &resourcev1.ResourceSlice{ObjectMeta: meta(fmt.Sprint("domain-", i))}
		s.Spec.Driver = "domain.example.com"
		s.Spec.Pool = resourcev1.ResourcePool{Name: s.Name, Generation: 1, ResourceSliceCount: 1}
		s.Spec.NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: "domain", Operator: corev1.NodeSelectorOpIn, Values: []string{fmt.Sprintf("d-%03d", i)}},
			},
		}}}
		s.Spec.Devices = []resourcev1.Device{{Name: "partition"}}
		state.Devices.PutSlice(model.SliceFrom(s))
	}
}

// A tree of 9,216 pods, the replicas of which each share the device of their domain, in addition to
// the label.
func BenchmarkTreeWithDomainDevices(b *testing.B) {
	state := rackedState(64, 36)
	putDomainDevices(state, 64)
	putTreeWith(b, state, "job", 64, 143, "domain", "domain")
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	for b.Loop() {
		if plan, reasons := placer.Try(treeKey("job")); plan == nil || len(plan.Pods) != 9216 {
			b.Fatal(reasons)
		}
	}
}

// The same with one domain too few.
func BenchmarkTreeWithDomainDevicesRefusal(b *testing.B) {
	state := rackedState(63, 36)
	putDomainDevices(state, 63)
	putTreeWith(b, state, "job", 64, 143, "domain", "domain")
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	for b.Loop() {
		if plan, reasons := placer.Try(treeKey("job")); plan != nil || reasons.Code != sched.CodeUnschedulable {
			b.Fatal(reasons)
		}
	}
}

// The same, restricted only by the devices of the domains, without a label.
func BenchmarkTreeByDomainDevices(b *testing.B) {
	state := rackedState(64, 36)
	putDomainDevices(state, 64)
	putTreeWith(b, state, "job", 64, 143, "", "domain")
	placer := sched.NewPlacer(state, sched.DefaultSteps)
	for b.Loop() {
		if plan, reasons := placer.Try(treeKey("job")); plan == nil || len(plan.Pods) != 9216 {
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

// 1,000 gangs of five on 5,000 nodes, with a device each, to compare small trees with.
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
