package scheduler

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

func gated(pod *core.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "wait"}} }

// P34: a member with scheduling gates holds the members that wait with it, in gangs and in basic
// groups, also when it comes after they were tried.
func TestGatedMemberHoldsItsGroup(t *testing.T) {
	const want = "waiting for the scheduling gates of pod g-9"
	for policy, minCount := range map[string]int32{"gang": 2, "basic": 0} {
		for order, late := range map[string]bool{"first": false, "last": true} {
			t.Run(policy+", gated pod "+order, func(t *testing.T) {
				s := newServer(t)
				s.addNode("n1", 10, 0)
				if late {
					s.addRoom("n1", 0)
				}
				x := start(t, s)
				s.addGang("g", minCount)
				if !late {
					s.addPod("g-9", "g", gated)
				}
				s.addMembers("g", 2)
				x.pass(5 * time.Second)
				if late {
					s.addPod("g-9", "g", gated)
					x.pass(5 * time.Second)
					s.addRoom("n1", 10)
				}
				x.pass(5 * time.Second)
				if got := s.bound("g"); len(got) > 0 {
					t.Errorf("bound %v", got)
				}
				if got := s.scheduled("g"); got != "False: "+want {
					t.Errorf("the group's condition is %q", got)
				}
				if got := s.message("g-1"); got != "Unschedulable: "+want {
					t.Errorf("the pod's condition is %q", got)
				}
				if got := s.message("g-9"); got != "" {
					t.Errorf("the condition of the gated pod is %q", got)
				}
				s.editPod("g-9", func(pod *core.Pod) { pod.Spec.SchedulingGates = nil })
				x.pass(5 * time.Second)
				if got := s.bound("g"); !slices.Equal(got, []string{"g-0", "g-1", "g-9"}) {
					t.Errorf("bound %v", got)
				}
			})
		}
	}
}

// Members that are placed stay, and one that comes later waits with the gated one, which it learns,
// until that is gone.
func TestGatedMemberHoldsFurtherMembers(t *testing.T) {
	for policy, minCount := range map[string]int32{"gang": 2, "basic": 0} {
		t.Run(policy, func(t *testing.T) {
			s := newServer(t)
			s.addNode("n1", 10, 0)
			x := start(t, s)
			s.addGang("g", minCount)
			s.addMembers("g", 2)
			x.pass(3 * time.Second)
			s.addPod("g-9", "g", gated)
			s.addPod("g-3", "g")
			x.pass(3 * time.Second)
			if got := s.bound("g"); !slices.Equal(got, []string{"g-0", "g-1"}) {
				t.Errorf("bound %v", got)
			}
			if got := s.message("g-3"); got != "Unschedulable: waiting for the scheduling gates of pod g-9" {
				t.Errorf("the pod's condition is %q", got)
			}
			s.deletePod("g-9")
			x.pass(3 * time.Second)
			if got := s.bound("g"); !slices.Equal(got, []string{"g-0", "g-1", "g-3"}) {
				t.Errorf("bound %v", got)
			}
		})
	}
}
