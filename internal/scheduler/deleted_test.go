package scheduler

import (
	"errors"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/model"
)

// deleteClaim has somebody delete a claim, which stays for its finalizer.
func (s *server) deleteClaim(name string) {
	claim := s.claim(name).DeepCopy()
	claim.DeletionTimestamp = &metav1.Time{Time: time.Unix(1000, 0)}
	put(s, claimed, claim)
}

// freed says whether a claim has lost its devices and all its consumers.
func (s *server) freed(name string) bool {
	status := s.claim(name).Status
	return status.Allocation == nil && len(status.ReservedFor) == 0
}

// leftReserved is a server with the claim c that the pod p has, which waits for the claim d: the
// process ended before the bind.
func leftReserved(t *testing.T) *server {
	t.Helper()
	s := newServer(t)
	s.addNode("n1", 4, 4)
	s.addClaim("c", 1)
	s.addPod("p", "", own("c"))
	crashed(t, s, 2)
	if s.device("c") == "" || len(s.claim("c").Status.ReservedFor) != 1 {
		t.Fatal("the claim is not reserved")
	}
	s.editPod("p", own("d"))
	return s
}

// A claim that is deleted while only pods without a node have it is freed, so that it can go and be
// made anew; whoever else holds it, or runs with it, keeps it.
func TestADeletedClaimIsFreed(t *testing.T) {
	also := func(consumers ...model.Consumer) func(*server) {
		return func(s *server) {
			claim := s.claim("c").DeepCopy()
			claim.Status.ReservedFor = append(claim.Status.ReservedFor, consumers...)
			put(s, claimed, claim)
		}
	}
	for _, test := range []struct {
		name  string
		edit  func(*server)
		freed bool
	}{
		{"a pod that waits", func(*server) {}, true},
		{"two pods that wait", func(s *server) {
			s.addPod("q", "", own("c"), own("d"))
			also(model.PodConsumer("q", s.pod("q").UID))(s)
		}, true},
		{"a group that has not run", func(s *server) {
			s.addGang("g", 2)
			also(model.GroupConsumer("g", s.group("g").UID))(s)
		}, true},
		{"a group of which a pod runs", func(s *server) {
			s.addGang("g", 2)
			s.addPod("g-0", "g", onNode("n1"))
			also(model.GroupConsumer("g", s.group("g").UID))(s)
		}, false},
		{"a pod that runs", func(s *server) {
			s.addPod("q", "", own("c"), onNode("n1"))
			also(model.PodConsumer("q", s.pod("q").UID))(s)
		}, false},
		{"a pod that runs and does not stand in the list", func(s *server) { s.addPod("q", "", own("c"), onNode("n1")) },
			false},
		{"a pod of another scheduler", func(s *server) {
			s.addPod("q", "", own("c"), func(pod *core.Pod) { pod.Spec.SchedulerName = "other" })
			also(model.PodConsumer("q", s.pod("q").UID))(s)
		}, false},
		{"a job", also(model.Consumer{APIGroup: "batch", Resource: "jobs", Name: "j", UID: "j"}), false},
		{"a pod that is gone, which the controller takes off", also(model.PodConsumer("gone", "gone")), false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := leftReserved(t)
			test.edit(s)
			x := start(t, s)
			x.pass(3 * time.Second)
			if s.freed("c") || count(x.link.writes, "status c") > 0 {
				t.Fatal("the claim is freed although nobody has deleted it")
			}
			s.deleteClaim("c")
			x.pass(3 * time.Second)
			if s.freed("c") != test.freed || count(x.link.writes, "status c") > 1 {
				t.Errorf("reserved for %v, writes %q", s.claim("c").Status.ReservedFor, x.link.writes)
			}
		})
	}
}

func onNode(node string) func(*core.Pod) {
	return func(pod *core.Pod) { pod.Spec.NodeName = node }
}

// It is freed, too, if it was deleted before the scheduler started, when its last pod has ended,
// and when a write fails.
func TestADeletedClaimIsFreedLater(t *testing.T) {
	s := leftReserved(t)
	s.addPod("q", "", own("c"), onNode("n1"))
	s.deleteClaim("c")
	x := start(t, s)
	x.pass(3 * time.Second)
	if s.freed("c") {
		t.Fatal("the claim is freed under a pod that runs")
	}
	x.link.refuse = func(write string) error {
		if write == "status c" {
			return errors.New("busy")
		}
		return nil
	}
	s.deletePod("q")
	x.pass(3 * time.Second)
	x.link.refuse = nil
	x.pass(3 * time.Second)
	if !s.freed("c") || len(x.s.deleted.claims) > 0 {
		t.Errorf("reserved for %v, listed %v", s.claim("c").Status.ReservedFor, x.s.deleted.claims)
	}
}

// A plan that waits for its devices is taken back when the claim is deleted, and the pods get the
// one that is made in its place.
func TestADeletedClaimEndsTheWaitForItsDevices(t *testing.T) {
	s, x := f70(t, 2)
	x.pass(time.Second)
	if s.device("fab") == "" {
		t.Fatal("no device is allocated")
	}
	s.deleteClaim("fab")
	x.pass(2 * time.Second)
	if !s.freed("fab") || len(s.bound("g")) > 0 {
		t.Fatalf("reserved for %v, bound %v", s.claim("fab").Status.ReservedFor, s.bound("g"))
	}
	put(s, claimed, func() *resource.ResourceClaim {
		claim := s.claim("fab").DeepCopy()
		claim.DeletionTimestamp, claim.UID = nil, "anew"
		return claim
	}())
	x.pass(2 * time.Second)
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(2 * time.Second)
	if got := s.bound("g"); !slices.Equal(got, []string{"g-0", "g-1"}) {
		t.Errorf("bound %v", got)
	}
}
