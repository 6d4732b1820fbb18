package model

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// What a pod draws through claims is taken from its node while it is there, and whoever waits for room hears when it
// draws less.
func TestDraws(t *testing.T) {
	s := NewState()
	s.PutNode(&Node{Name: "n", Allocatable: Resources{"cpu": 8000}})
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
		info, _ := s.Node("n")
		return info.Free["cpu"]
	}
	room := roomOn("n")
	steps := []struct {
		what   string
		do     func() []Topic
		free   int64
		topics bool
	}{
		{"waits, with draws of an earlier attempt", func() []Topic { return s.PutPod(pod("", "1")) }, 8000, false},
		{"assumed", func() []Topic {
			s.AssumePod(Key{Namespace: "ns", Name: "p"}, "n", pod("", "500m").Draws...)
			return nil
		}, 5000, false},
		{"shown without node", func() []Topic { return s.PutPod(pod("", "500m")) }, 5000, false},
		{"bound", func() []Topic { return s.PutPod(pod("n", "500m")) }, 5000, false},
		{"draws more", func() []Topic { return s.PutPod(pod("n", "500m", "500m")) }, 3000, false},
		{"draws less", func() []Topic { return s.PutPod(pod("n", "500m")) }, 5000, true},
		{"draws nothing", func() []Topic { return s.PutPod(pod("n")) }, 7000, true},
		{"gone", func() []Topic { return s.DeletePod(Key{Namespace: "ns", Name: "p"}) }, 8000, true},
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
