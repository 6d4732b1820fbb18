package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// crashServer has a gang of four that share a claim, of which one member has a claim of its own,
// too, on a cluster where it just fits.
func crashServer(t tb) *server {
	s := newServer(t)
	s.addNode("n1", 4, 2)
	s.addClaim("shared", 1)
	s.addClaim("mine", 1)
	s.addGang("g", 4, "shared")
	s.addPod("g-0", "g", ofGroup("shared"), own("mine"))
	for i := 1; i < 4; i++ {
		s.addPod(fmt.Sprintf("g-%d", i), "g", ofGroup("shared"))
	}
	return s
}

// writesOfCommit is what the gang of crashServer costs: each claim its finalizer and its status,
// each pod its bind.
const writesOfCommit = 2*2 + 4

// crashed runs a scheduler on the server that is gone after so many writes.
func crashed(t tb, s *server, writes int) *session {
	t.Helper()
	x := start(t, s)
	x.link.left = writes
	for range 10 {
		if x.see(1000); !x.step() {
			x.job()
		}
	}
	return x
}

// orphaned says whether a claim is held by nobody but pods that are gone: the claim controller
// frees it.
func (s *server) orphaned(name string) bool {
	for _, consumer := range s.claim(name).Status.ReservedFor {
		if _, ok := s.objects.pods.Get(ns, consumer.Name); ok || !model.IsPodConsumer(consumer) {
			return false
		}
	}
	return true
}

// whole holds that of a gang all members are bound, or none, and then none of the claims is held.
func (s *server) whole(t tb, group string, members int) {
	t.Helper()
	bound, held := s.bound(group), slices.DeleteFunc(s.allocated(), s.orphaned)
	switch len(bound) {
	case 0:
		if len(held) > 0 {
			t.Errorf("nobody is bound, but devices are held by %v", held)
		}
	case members:
		for _, name := range held {
			if n := len(s.claim(name).Status.ReservedFor); n != 1 {
				t.Errorf("claim %s has %d consumers", name, n)
			}
		}
	default:
		t.Errorf("half a gang: %v", bound)
	}
}

func TestCommitWritesInOrder(t *testing.T) {
	s := crashServer(t)
	x := start(t, s)
	x.idle()
	want := []string{
		"protect mine",
		"status mine",
		"protect shared",
		"status shared",
		"bind g-0",
		"bind g-1",
		"bind g-2",
		"bind g-3",
	}
	if got := x.link.writes[:writesOfCommit]; !slices.Equal(got, want) {
		t.Errorf("writes = %q, want %q", got, want)
	}
	s.whole(t, "g", 4)
}

// R50: whenever the process ends, the next one finishes the gang, with competitors for its room or
// without.
func TestCrashAfterEachWrite(t *testing.T) {
	for writes := range writesOfCommit + 1 {
		for _, rivals := range []int{0, 4} {
			t.Run(fmt.Sprintf("writes=%d rivals=%d", writes, rivals), func(t *testing.T) {
				s := crashServer(t)
				crashed(t, s, writes)
				before := len(s.bound("g"))
				for i := range rivals {
					s.addPod(fmt.Sprintf("rival-%d", i), "", priority(1000), patient)
				}
				x := start(t, s)
				x.pass(15 * time.Second)
				s.whole(t, "g", 4)
				if bound := len(s.bound("g")); (before > 0 || rivals == 0) && bound != 4 {
					t.Errorf("%d were bound before, %d are in the end", before, bound)
				}
			})
		}
	}
}

// A member is deleted while the gang is half-bound: after the time that its controller has to
// replace it, the gang is rolled back; when replacements come, it is placed anew.
func TestCrashThenMemberDeleted(t *testing.T) {
	for writes := range writesOfCommit {
		t.Run(fmt.Sprint("writes=", writes), func(t *testing.T) {
			s := crashServer(t)
			crashed(t, s, writes)
			before := len(s.bound("g"))
			s.deletePod("g-3")
			s.addPod("rival", "", priority(1000), patient)
			x := start(t, s)
			x.pass(rollBackAfter / 2)
			if got := len(s.bound("g")); got != before {
				t.Fatalf("%d of %d are left before the time is over", got, before)
			}
			x.pass(rollBackAfter)
			if got := s.bound("g"); len(got) > 0 {
				t.Fatalf("still bound: %v", got)
			}
			if before < 3 {
				s.whole(t, "g", 4)
			}
			s.deletePod("rival")
			for i := range 4 {
				if name := fmt.Sprintf("g-%d", i); !slices.ContainsFunc(
					s.objects.pods.List(), func(p *core.Pod) bool { return p.Name == name },
				) {
					edits := []func(*core.Pod){ofGroup("shared")}
					if i == 0 {
						edits = append(edits, own("mine"))
						s.claimForNewPod("mine")
					}
					s.addPod(name, "g", edits...)
				}
			}
			x.pass(15 * time.Second)
			if got := s.bound("g"); len(got) != 4 {
				t.Errorf("bound in the end: %v, %s", got, s.message("g-1"))
			}
			s.whole(t, "g", 4)
		})
	}
}

// claimForNewPod does what the claim controller does when the pod that held a claim is gone.
func (s *server) claimForNewPod(name string) {
	claim := s.claim(name).DeepCopy()
	claim.Status.Allocation, claim.Status.ReservedFor = nil, nil
	put(s, claimed, claim)
}

// A replacement that comes in time is all that a half-bound gang needs.
func TestCrashThenMemberReplaced(t *testing.T) {
	s := crashServer(t)
	crashed(t, s, writesOfCommit-2)
	s.deletePod("g-3")
	x := start(t, s)
	x.pass(rollBackAfter / 2)
	s.addPod("g-3", "g", ofGroup("shared"))
	x.pass(time.Second)
	s.whole(t, "g", 4)
	if got := s.bound("g"); len(got) != 4 ||
		slices.ContainsFunc(x.link.writes, func(w string) bool { return w == "evict g-0" }) {
		t.Errorf("bound %v, writes %q", got, x.link.writes)
	}
}

// A gang that can be finished, but whose binds fail for ever, does not stay half-bound.
func TestBindsThatFailForEver(t *testing.T) {
	s := crashServer(t)
	x := start(t, s)
	x.link.refuse = refuse("bind g-3")
	x.pass(5 * time.Second)
	if got := s.message("g-3"); !strings.HasPrefix(got, "SchedulerError: bind pod ns/g-3") {
		t.Errorf("told %q", got)
	}
	x.pass(35 * time.Second)
	if tried := x.link.tried["bind g-3"]; tried > 20 {
		t.Errorf("%d attempts", tried)
	}
	if got := s.bound("g"); len(got) > 0 {
		t.Errorf("bound %v", got)
	}
	s.deletePod("g-3")
	x.pass(time.Second)
	s.whole(t, "g", 4)
}

// What is left of a half-bound gang keeps its room while its bind is tried again.
func TestRoomIsKeptForTheRestOfAGang(t *testing.T) {
	s := crashServer(t)
	x := start(t, s)
	failing := true
	x.link.refuse = func(write string) error {
		if failing && write == "bind g-3" {
			return errForbidden
		}
		return nil
	}
	x.idle()
	s.addPod("rival", "", priority(1000), patient)
	x.pass(time.Second)
	if got := s.bound(""); len(got) > 0 {
		t.Errorf("bound instead: %v", got)
	}
	failing = false
	x.pass(2 * time.Second)
	s.whole(t, "g", 4)
	if got := s.bound("g"); len(got) != 4 {
		t.Errorf("bound %v", got)
	}
}

// Only what this scheduler has bound is rolled back.
func TestRollBackLeavesOthersAlone(t *testing.T) {
	s := crashServer(t)
	s.addRoom("n1", 5)
	crashed(t, s, writesOfCommit-2)
	s.deletePod("g-3")
	s.addPod("g-9", "g", func(pod *core.Pod) { pod.Spec.SchedulerName, pod.Spec.NodeName = "other", "n1" })
	s.deletePod("g-2")
	x := start(t, s)
	x.pass(2 * rollBackAfter)
	if got := s.bound("g"); !slices.Equal(got, []string{"g-9"}) {
		t.Errorf("bound %v", got)
	}
}

// While a gang's first plan is being written, a member that comes late is not placed alone: the
// plan may be refused.
func TestLateMemberWaitsForTheGang(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	s.addGang("g", 2, "c")
	s.addMembers("g", 2, ofGroup("c"))
	x := start(t, s)
	x.see(100)
	x.step()
	s.addPod("late", "g")
	x.link.refuse = refuse("status c")
	x.see(100)
	x.step()
	x.idle()
	if got := s.bound("g"); len(got) > 0 {
		t.Errorf("bound %v", got)
	}
	x.link.refuse = nil
	x.pass(time.Second)
	if got := s.bound("g"); len(got) != 3 {
		t.Errorf("bound %v", got)
	}
}

// What is being given back is not used meanwhile, and not before the caches know of it.
func TestNothingIsPlacedOnWhatIsGivenBack(t *testing.T) {
	s := crashServer(t)
	crashed(t, s, 4)
	s.addRoom("n1", 1)
	x := start(t, s)
	for x.step() {
	}
	if len(x.jobs) != 1 {
		t.Fatalf("%d writes are due", len(x.jobs))
	}
	s.addRoom("n1", 4)
	s.addPod("g-9", "g")
	x.see(100)
	for x.step() {
	}
	if len(x.jobs) != 1 {
		t.Fatalf("%d writes are due", len(x.jobs))
	}
	x.deaf = true
	x.idle() // the server checks that no pod is bound before its claims
	x.deaf = false
	x.pass(time.Second)
	if got := s.bound("g"); len(got) != 4 {
		t.Errorf("bound %v", got)
	}
}
