package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// boundTo is a pod that a scheduler has bound.
func boundTo(node string) func(*core.Pod) {
	return func(pod *core.Pod) {
		pod.Spec.NodeName = node
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	}
}

// P1: a pod that is on a node while its claim has no devices gets some there, whether a scheduler
// finds that when it starts or later, and is deleted if there are none.
func TestPodThatHasLostItsDevices(t *testing.T) {
	for _, found := range []string{"at start", "later"} {
		for devices, kept := range []bool{false, true} {
			s := newServer(t)
			s.addNode("n1", 4, devices)
			s.addNode("n2", 4, 1)
			s.addClaim("c", 1)
			var x *session
			if found == "later" {
				x = start(t, s)
				x.pass(time.Second)
			}
			s.addPod("p", "", own("c"), boundTo("n1"))
			if x == nil {
				x = start(t, s)
			}
			x.pass(time.Second)
			if len(x.link.writes) > 0 {
				t.Errorf("%s, %d devices: written before the caches could be right: %q", found, devices, x.link.writes)
			}
			x.pass(3 * time.Second)
			_, there := s.objects.pods.Get(ns, "p")
			told := slices.ContainsFunc(x.events, func(e string) bool { return strings.HasPrefix(e, "p DevicesLost: ") })
			if there != kept || !told {
				t.Errorf("%s, %d devices: the pod is there: %t, events %q", found, devices, there, x.events)
			}
			if got := s.device("c") != ""; got != kept {
				t.Errorf("%s, %d devices: the claim has one: %t", found, devices, got)
			}
			if kept && !slices.Contains(s.claim("c").Status.ReservedFor, model.PodConsumer("p", s.pod("p").UID)) {
				t.Errorf("%s: reserved for %v", found, s.claim("c").Status.ReservedFor)
			}
		}
	}
}

// A pod that was made with a node waits, as in Kubernetes.
func TestPodThatWasNotBoundWaits(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	s.addPod("p", "", own("c"), func(pod *core.Pod) { pod.Spec.NodeName = "n1" })
	x := start(t, s)
	x.pass(10 * time.Second)
	if s.device("c") != "" || len(x.events) > 0 || len(x.link.writes) > 0 {
		t.Errorf("device %q, events %q, writes %q", s.device("c"), x.events, x.link.writes)
	}
}

// P1: what spec.reservedFor names has ended, so the pods are the consumers.
func TestEndedConsumerIsNotCopied(t *testing.T) {
	for _, consumer := range []model.Consumer{model.GroupConsumer("gone", "gone"), model.PodConsumer("gone", "gone"),
		model.PodConsumer("leader", "other")} {
		s := newServer(t)
		s.addNode("n1", 4, 1)
		s.addPod("leader", "")
		s.addClaim("c", 1)
		claim := s.claim("c").DeepCopy()
		claim.Spec.ReservedFor = &consumer
		put(s, claimed, claim)
		s.addPod("p", "", own("c"))
		start(t, s).pass(time.Second)
		got := s.claim("c").Status
		if want := model.PodConsumer("p", s.pod("p").UID); !slices.Equal(got.ReservedFor, []model.Consumer{want}) ||
			got.Allocation.ReservedForAnyPod != nil {
			t.Errorf("%v: reserved for %v", consumer, got.ReservedFor)
		}
	}
}

// P1: a plan that relies on a consumer which has left meanwhile is refused, however late the
// scheduler's caches are.
func TestNoBindOnTheStrengthOfAConsumerThatHasLeft(t *testing.T) {
	job := model.Consumer{APIGroup: "batch", Resource: "jobs", Name: "j", UID: "j"}
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	claim := s.claim("c").DeepCopy()
	claim.Spec.ReservedFor = &job
	put(s, claimed, claim)
	s.addPod("first", "", own("c"))
	x := start(t, s)
	x.pass(time.Second)
	if got := s.claim("c").Status.ReservedFor; !slices.Equal(got, []model.Consumer{job}) {
		t.Fatalf("reserved for %v", got)
	}
	s.deletePod("first")
	s.addPod("second", "", own("c"))
	x.see(1000)
	claim = s.claim("c").DeepCopy()
	claim.Status.ReservedFor = nil
	claim.Status.Allocation = nil
	put(s, claimed, claim)
	x.deaf = true
	for x.step() || x.job() {
		x.see(1000)
	}
	if got := s.bound(""); len(got) > 0 {
		t.Errorf("%v are bound, and the claim has no device", got)
	}
	x.deaf = false
	x.pass(2 * time.Second)
	if got := s.bound(""); !slices.Equal(got, []string{"second"}) || s.device("c") == "" {
		t.Errorf("in the end %v are bound, and the claim has device %q", got, s.device("c"))
	}
}
