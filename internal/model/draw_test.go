package model

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	podresources "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"
)

// The draws of a pod count on its node while the pod is there, and units that wait for resources
// are woken when it draws less.
func TestDraws(t *testing.T) {
	s := NewState()
	s.Nodes.Put(&Node{Name: "n", Allocatable: Resources{"cpu": 8000}})
	pod := func(node string, amounts ...string) *Pod {
		p := &Pod{Key: Key{Namespace: "ns", Name: "p"}, UID: "u", Node: node, Shape: &Shape{Requests: Resources{"cpu": 1000}}}
		for _, text := range amounts {
			amount := resource.MustParse(text)
			p.Draws = append(p.Draws, Draw{
				ResourceClaimName: "c", Containers: []string{"a", "b"},
				Mapping:  []corev1.NodeAllocatableMappedResources{{Name: "cpu", Quantity: &amount}},
				Overhead: []corev1.NodeAllocatableOverheadResources{{Name: "cpu", PerPod: &amount, PerContainer: &amount}},
			})
		}
		return p
	}
	free := func() int64 {
		info, _ := s.Nodes.Get("n")
		return info.Free["cpu"]
	}
	room := roomOn("n")
	steps := []struct {
		what   string
		do     func() []Topic
		free   int64
		topics bool
	}{
		{"waits, with draws of an earlier attempt", func() []Topic { return s.Pods.Put(pod("", "1")) }, 8000, false},
		{"assumed", func() []Topic {
			s.Pods.Assume(Key{Namespace: "ns", Name: "p"}, "n", pod("", "500m").Draws...)
			return nil
		}, 5000, false},
		{"shown without node", func() []Topic { return s.Pods.Put(pod("", "500m")) }, 5000, false},
		{"bound", func() []Topic { return s.Pods.Put(pod("n", "500m")) }, 5000, false},
		{"draws more", func() []Topic { return s.Pods.Put(pod("n", "500m", "500m")) }, 3000, false},
		{"draws less", func() []Topic { return s.Pods.Put(pod("n", "500m")) }, 5000, true},
		{"draws nothing", func() []Topic { return s.Pods.Put(pod("n")) }, 7000, true},
		{"gone", func() []Topic { return s.Pods.Delete(Key{Namespace: "ns", Name: "p"}) }, 8000, true},
	}
	for _, step := range steps {
		topics := step.do()
		if free() != step.free || slices.Contains(topics, room) != step.topics {
			t.Errorf("%s: %d free, topics %v", step.what, free(), topics)
		}
	}
	if err := s.Audit(); err != nil {
		t.Error(err)
	}
}

// TestDrawsAreCountedAsUpstream compares what a pod takes from its node, and whether its pod-level
// requests cover what its devices draw, with the functions by which upstream's scheduler and
// kubelets compute them.
func TestDrawsAreCountedAsUpstream(t *testing.T) {
	names := []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory}
	rapid.Check(t, func(t *rapid.T) {
		amount := func(label string) *resource.Quantity {
			return resource.NewQuantity(rapid.Int64Range(0, 5).Draw(t, label), resource.DecimalSI)
		}
		list := func(label string) corev1.ResourceList {
			out := corev1.ResourceList{}
			for _, name := range names {
				if rapid.Bool().Draw(t, label+" has "+string(name)) {
					out[name] = *amount(label)
				}
			}
			return out
		}
		pod := &corev1.Pod{}
		for _, name := range []string{"a", "b"} {
			pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{
				Name: name, Resources: corev1.ResourceRequirements{Requests: list("container " + name)},
			})
		}
		if rapid.Bool().Draw(t, "pod level") { // at least what the containers request, as validation demands
			requests := list("pod")
			for name, q := range requests {
				for i := range pod.Spec.Containers {
					q.Add(pod.Spec.Containers[i].Resources.Requests[name])
				}
				requests[name] = q
			}
			pod.Spec.Resources = &corev1.ResourceRequirements{Requests: requests}
		}
		for _, name := range names {
			if rapid.Bool().Draw(t, "draws "+string(name)) {
				pod.Status.NodeAllocatableResourceClaimStatuses = append(pod.Status.NodeAllocatableResourceClaimStatuses, Draw{
					ResourceClaimName: string(name), Containers: []string{"a"},
					Mapping: []corev1.NodeAllocatableMappedResources{{Name: name, Quantity: amount("mapped")}},
					Overhead: []corev1.NodeAllocatableOverheadResources{
						{Name: name, PerPod: amount("per pod"), PerContainer: amount("per container")},
					},
				})
			}
		}
		shape, err := shapeFrom(pod)
		if err != nil {
			t.Fatal(err)
		}
		p := &Pod{Shape: shape, Draws: pod.Status.NodeAllocatableResourceClaimStatuses}
		withDraws := podresources.PodResourcesOptions{UseDRANodeAllocatableResourceClaimStatus: true}
		taken, want := p.nodeUsage(), ResourcesFrom(podresources.PodRequests(pod, withDraws))
		withDraws.SkipPodLevelResources = true
		ofContainers := ResourcesFrom(podresources.AggregateContainerRequests(pod, withDraws))
		for _, name := range names {
			if covered, level := coveredByPodLevel(pod, name, ofContainers); !covered {
				if p.Shape.DrawBudgets[name] >= Drawn(p.Draws)[name] {
					t.Errorf("%s: containers and draws take %d of %d: not found", name, ofContainers[name], level)
				}
				continue
			}
			if budget, ok := p.Shape.DrawBudgets[name]; ok && budget < Drawn(p.Draws)[name] {
				t.Errorf("%s: draws %d exceed %d, and upstream finds them covered", name, Drawn(p.Draws)[name], budget)
			}
			if taken[name] != want[name] {
				t.Errorf("%s: takes %d, want %d", name, taken[name], want[name])
			}
		}
	})
}

// TestDrawLimits compares what devices may draw under pod-level limits with the rule of upstream's
// scheduler: the draws of huge pages count against the limit with what all containers have, and
// others with what each container has.
func TestDrawLimits(t *testing.T) {
	const pages = corev1.ResourceHugePagesPrefix + "2Mi"
	names := []corev1.ResourceName{corev1.ResourceCPU, pages}
	rapid.Check(t, func(t *rapid.T) {
		amount := func(label string) *resource.Quantity {
			return resource.NewQuantity(rapid.Int64Range(0, 5).Draw(t, label), resource.DecimalSI)
		}
		list := func(label string) corev1.ResourceList {
			out := corev1.ResourceList{}
			for _, name := range names {
				if rapid.Bool().Draw(t, label+" limits "+string(name)) {
					out[name] = *amount(label)
				}
			}
			return out
		}
		pod := &corev1.Pod{}
		for _, name := range []string{"a", "b"} {
			pod.Spec.Containers = append(pod.Spec.Containers,
				corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Limits: list(name)}})
		}
		pod.Spec.Resources = &corev1.ResourceRequirements{Limits: list("pod")}
		var draws []Draw
		for _, claim := range []string{"x", "y"} {
			name := rapid.SampledFrom(names).Draw(t, "resource")
			draws = append(draws, Draw{
				ResourceClaimName: claim, Containers: rapid.SliceOfDistinct(rapid.SampledFrom([]string{"a", "b"}), rapid.ID).Draw(t,
					"containers"),
				Mapping: []corev1.NodeAllocatableMappedResources{{Name: name, Quantity: amount("mapped")}},
				Overhead: []corev1.NodeAllocatableOverheadResources{
					{Name: name, PerPod: amount("per pod"), PerContainer: amount("per container")},
				},
			})
		}
		pod.Status.NodeAllocatableResourceClaimStatuses = draws
		shape, err := shapeFrom(pod)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			level, limited := pod.Spec.Resources.Limits[name]
			exceeds := func(sum resource.Quantity) bool { return limited && sum.Cmp(level) > 0 }
			want := []string{}
			if all := podresources.AggregateContainerLimits(pod, podresources.PodResourcesOptions{
				SkipPodLevelResources: true, UseDRANodeAllocatableResourceClaimStatus: true,
			}); name == pages && exceeds(all[name]) {
				want = append(want, "")
			}
			for _, c := range pod.Spec.Containers {
				if own, ok := c.Resources.Limits[name]; ok && name != pages {
					if own.Add(podresources.GetContainerDRAAllocations(pod, c.Name)[name]); exceeds(own) {
						want = append(want, c.Name)
					}
				}
			}
			got := []string{}
			for _, limit := range shape.DrawLimits {
				if limit.Resource == name && limit.Exceeded(draws) > 0 {
					got = append(got, limit.Container)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: %s", name, diff)
			}
		}
	})
}

// coveredByPodLevel reports whether the pod-level request for a resource, if there is one, covers
// what containers request and devices draw.
func coveredByPodLevel(pod *corev1.Pod, name corev1.ResourceName, ofContainers Resources) (bool, int64) {
	if pod.Spec.Resources == nil {
		return true, 0
	}
	level, ok := ResourcesFrom(pod.Spec.Resources.Requests)[name]
	return !ok || ofContainers[name] <= level, level
}
