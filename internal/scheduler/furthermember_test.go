package scheduler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

const noRoom = "0/1 nodes are available: 1 Insufficient cpu."

// P30: a member beyond minCount that has no place has a condition and an event, when it comes with
// the others and when it comes later, whatever the group has said before.
func TestFurtherMemberReportsWhyItWaits(t *testing.T) {
	for name, late := range map[string]bool{"with the others": false, "later": true} {
		for before, room := range map[string]int64{"": 2, ", after the gang has waited": 1} {
			t.Run(name+before, func(t *testing.T) {
				s := newServer(t)
				s.addNode("n1", room, 0)
				x := start(t, s)
				s.addGang("g", 2)
				s.addMembers("g", 2)
				if !late {
					s.addPod("g-2", "g")
				}
				x.pass(3 * time.Second)
				s.addRoom("n1", 2)
				x.pass(3 * time.Second)
				if late {
					s.addPod("g-2", "g")
				}
				x.pass(3 * time.Second)
				if got := s.message("g-2"); got != "Unschedulable: "+noRoom {
					t.Errorf("the pod's condition is %q", got)
				}
				if !slices.Contains(x.events, "g-2 FailedScheduling: "+noRoom) {
					t.Errorf("events: %q", x.events)
				}
				if got := s.scheduled("g"); got != "True: 2 of 2 pods are placed" {
					t.Errorf("the group's condition is %q", got)
				}
				s.addRoom("n1", 3)
				x.pass(3 * time.Second)
				if got := s.scheduled("g"); got != "True: 3 pods are placed (minCount 2)" {
					t.Errorf("the group's condition is %q", got)
				}
			})
		}
	}
}

// So has one for which the members that have not finished are too few, one whose bind fails, and
// one that makes the placement panic.
func TestFurtherMemberReportsOtherReasons(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 3, 0)
	x := start(t, s)
	s.addGang("g", 2)
	s.addMembers("g", 2)
	x.pass(3 * time.Second)
	x.link.refuse = func(write string) error {
		if strings.HasPrefix(write, "bind") {
			return errors.New("not today")
		}
		return nil
	}
	s.addPod("g-2", "g")
	x.pass(5 * time.Second)
	if got := s.message("g-2"); !strings.HasPrefix(got, "SchedulerError: ") || !strings.HasSuffix(got, "not today") {
		t.Errorf("the bind fails, and the condition is %q", got)
	}
	for i := range 2 {
		s.editPod(fmt.Sprint("g-", i), func(pod *core.Pod) { pod.Status.Phase = corev1.PodSucceeded })
	}
	s.deletePod("g-2")
	x.link.refuse = nil
	s.addPod("g-3", "g")
	x.pass(5 * time.Second)
	if got := s.message("g-3"); got != "Unschedulable: 1 of 2 pods exist (not counted: 2 finished)" {
		t.Errorf("the others have finished, and the condition is %q", got)
	}
}

// scheduled returns the PodGroupScheduled condition of a group.
func (s *server) scheduled(group string) string {
	c := meta.FindStatusCondition(s.group(group).Status.Conditions, scheduling.PodGroupScheduled)
	if c == nil {
		return ""
	}
	return fmt.Sprintf("%s: %s", c.Status, c.Message)
}

// P9: a gang that has lost members has both numbers in its condition, and why no place is found for
// the others.
func TestGangBelowMinCountReportsBothNumbers(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 3, 0)
	x := start(t, s)
	s.addGang("g", 2)
	s.addMembers("g", 3)
	x.pass(3 * time.Second)
	s.setMinCount("g", 4)
	x.pass(3 * time.Second)
	if got := s.scheduled("g"); got != "False: 3 of 4 pods exist" {
		t.Errorf("the group's condition is %q", got)
	}
	s.addPod("g-3", "g")
	x.pass(3 * time.Second)
	if got := s.scheduled("g"); got != "False: 3 of 4 pods are placed: pod g-3: "+noRoom {
		t.Errorf("the group's condition is %q", got)
	}
	if got := s.message("g-3"); got != "Unschedulable: 3 of 4 pods are placed: pod g-3: "+noRoom {
		t.Errorf("the pod's condition is %q", got)
	}
	if !meta.IsStatusConditionTrue(s.group("g").Status.Conditions, "PodGroupInitiallyScheduled") ||
		len(s.bound("g")) != 3 {
		t.Errorf("what was placed is not any more: %v", s.group("g").Status.Conditions)
	}
}

// P9: pods that are made after minCount was raised are placed by the new value, whatever the
// scheduler sees first.
func TestRaisedMinCountHoldsForPodsThatComeLater(t *testing.T) {
	for room, want := range map[int64]int{3: 2, 4: 4} {
		for seed := range uint64(20) {
			s := newServer(t)
			s.addNode("n1", room, 0)
			x := start(t, s)
			s.addGang("g", 2)
			s.addMembers("g", 2)
			x.pass(3 * time.Second)
			s.setMinCount("g", 4)
			raised := len(s.log) - 1
			for i := 2; i < 4; i++ {
				s.addPod(fmt.Sprint("g-", i), "g")
			}
			// The watch of PodGroups is behind that of pods.
			behind := s.log[raised]
			s.log = append(s.log[:raised], s.log[raised+1:]...)
			random := rand.New(rand.NewPCG(seed, 0))
			x.act(random, 10)
			s.mu.Lock()
			s.log = append(s.log, behind)
			s.mu.Unlock()
			x.act(random, 10)
			x.pass(15 * time.Second)
			if got := len(s.bound("g")); got != want {
				t.Fatalf("seed %d, room for %d: %d pods are bound, want %d", seed, room, got, want)
			}
		}
	}
}

// act does so many random steps.
func (x *session) act(random *rand.Rand, n int) {
	for range n {
		switch random.IntN(4) {
		case 0:
			x.see(1)
		case 1:
			x.step()
		case 2:
			x.job()
		case 3:
			x.status()
		}
	}
}

// setMinCount changes the minCount of a gang.
func (s *server) setMinCount(name string, minCount int32) {
	group := s.group(name).DeepCopy()
	group.Generation++
	group.Spec.SchedulingPolicy.Gang.MinCount = minCount
	put(s, podGroups, group)
}
