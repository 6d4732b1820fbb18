package scheduler

import (
	"fmt"
	"slices"
	"testing"
	"time"

	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"

	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
)

// gangServer has a gang of three that share a claim, each member with a claim of its own besides,
// on a cluster where it just fits.
func gangServer(t tb) *server {
	s := newServer(t)
	s.addNode("n1", 3, 4)
	s.addClaim("shared", 1)
	s.addGang("g", 3, "shared")
	for i := range 3 {
		s.addClaim(fmt.Sprint("own-", i), 1)
		s.addPod(fmt.Sprint("g-", i), "g", ofGroup("shared"), own(fmt.Sprint("own-", i)))
	}
	return s
}

// runUntil lets a scheduler work on the server until it has made so many writes, and is gone then.
func runUntil(t tb, s *server, writes int, unsaid bool) {
	t.Helper()
	x := start(t, s)
	x.link.left, x.link.unsaid = writes, unsaid
	for range 2 * int(rollBackAfter/time.Second) {
		if x.link.left == 0 {
			return
		}
		x.pass(time.Second)
	}
}

// sound holds of what a crash may leave in the end: the gang is whole or not there, nobody holds
// devices who does not run, no claim has two owners. The server itself holds that no device has.
func (s *server) sound(t tb) {
	t.Helper()
	bound := s.bound("g")
	// A gang that was whole may lose members, and keeps its devices (F09, F29).
	ran := meta.IsStatusConditionTrue(s.group("g").Status.Conditions, scheduling.PodGroupScheduled) ||
		meta.IsStatusConditionTrue(s.group("g").Status.Conditions, schedulingv1beta1.PodGroupInitiallyScheduled)
	if n := len(bound); n > 0 && n < 3 && !ran {
		t.Errorf("half a gang: %v", bound)
	}
	for _, name := range s.allocated() {
		claim := s.claim(name)
		switch consumers := claim.Status.ReservedFor; {
		case len(consumers) != 1:
			t.Errorf("claim %s has %d owners: %v", name, len(consumers), consumers)
		case len(bound) == 0 && !ran && !s.orphaned(name):
			t.Errorf("nobody is bound, but %v holds claim %s", consumers, name)
		}
	}
}

// What happens between the end of one process and the start of the next.
var misfortunes = []struct {
	name   string
	strike func(*server)
	whole  bool // the gang can be placed after it
}{
	{"nothing", func(*server) {}, true},
	{"rivals", func(s *server) {
		for i := range 3 {
			s.addPod(fmt.Sprint("rival-", i), "", priority(1000), patient)
		}
	}, false},
	{"a member goes", func(s *server) { s.deletePod("g-1") }, false},
	{"all members go", func(s *server) {
		for i := range 3 {
			s.deletePod(fmt.Sprint("g-", i))
		}
	}, false},
	{"the node goes", func(s *server) { s.addRoom("n1", 0) }, false},
}

// R50: the process ends at each of its writes, with the write made or not, and the next one as
// well. Whatever happens in between, in the end the gang is whole or not there, and what is not
// used is free.
func TestCrashAtEachWrite(t *testing.T) {
	for _, misfortune := range misfortunes {
		t.Run(misfortune.name, func(t *testing.T) {
			t.Parallel()
			crashAtEachWrite(t, gangServer, misfortune.strike, misfortune.whole)
		})
	}
}

// The same with members that get their devices in the place of extended resources: their claims are
// made with the plan.
func TestCrashAtEachWriteOfExtendedResources(t *testing.T) {
	for _, misfortune := range misfortunes {
		t.Run(misfortune.name, func(t *testing.T) {
			t.Parallel()
			crashAtEachWrite(t, extendedServer, misfortune.strike, misfortune.whole)
		})
	}
}

func crashAtEachWrite(t *testing.T, build func(tb) *server, strike func(*server), whole bool) {
	t.Helper()
	runs := 0
	for first := 0; ; first++ {
		for _, unsaid := range []bool{false, true} {
			runs += crashTwice(t, crash{build, first, unsaid}, strike, whole)
		}
		if s := build(t); !reaches(t, s, first) {
			break
		}
	}
	if t.Logf("%d runs", runs); runs < 50 {
		t.Errorf("only %d runs", runs)
	}
}

// crash is how the first process ends.
type crash struct {
	build  func(tb) *server
	first  int // writes that it has made
	unsaid bool
}

// reaches says whether a process that is left alone makes so many writes.
func reaches(t tb, s *server, writes int) bool {
	x := start(t, s)
	x.pass(time.Second)
	return len(x.link.writes) > writes
}

// crashTwice ends the first process at one write, and the second one at each of its own, each time
// from the start.
func crashTwice(t *testing.T, at crash, strike func(*server), whole bool) int {
	t.Helper()
	for second := 0; ; second++ {
		s := at.build(t)
		runUntil(t, s, at.first, at.unsaid)
		before := s.bound("g")
		strike(s)
		y := start(t, s)
		y.link.left = second
		for range 2 * int(rollBackAfter/time.Second) {
			if y.link.left == 0 {
				break
			}
			y.pass(time.Second)
		}
		z := start(t, s)
		z.pass(2*rollBackAfter + time.Second)
		s.sound(t)
		if got := s.bound("g"); whole && len(got) != 3 {
			t.Errorf("%d were bound after the first end, %v in the end", len(before), got)
		}
		if t.Failed() {
			t.Fatalf("ended at write %d (made: %v) and then at write %d", at.first, at.unsaid, second)
		}
		if y.link.left > 0 {
			return second + 1
		}
	}
}

// A gang that was rolled back keeps no devices for members that may never come, and neither does
// one whose pods went before they were bound; both get devices when members come.
func TestEmptyGangHoldsNothing(t *testing.T) {
	for _, bound := range []int{0, 2} {
		t.Run(fmt.Sprint(bound, " bound"), func(t *testing.T) {
			s := gangServer(t)
			runUntil(t, s, 2*4+bound, false)
			for i := bound; i < 3; i++ {
				s.deletePod(fmt.Sprint("g-", i))
			}
			x := start(t, s)
			x.pass(rollBackAfter + time.Second)
			if got := s.bound("g"); len(got) > 0 {
				t.Fatalf("bound %v", got)
			}
			if s.device("shared") != "" || len(s.claim("shared").Status.ReservedFor) > 0 {
				t.Errorf("the group holds %s", s.device("shared"))
			}
			for i := range 3 {
				if slices.Contains(s.allocated(), fmt.Sprint("own-", i)) {
					s.claimForNewPod(fmt.Sprint("own-", i))
				}
				s.addPod(fmt.Sprint("g-", i), "g", ofGroup("shared"), own(fmt.Sprint("own-", i)))
			}
			x.pass(time.Second)
			if got := s.bound("g"); len(got) != 3 {
				t.Errorf("bound %v, %s", got, s.message("g-0"))
			}
			if consumer := s.claim("shared").Status.ReservedFor[0]; model.IsPodConsumer(consumer) {
				t.Errorf("reserved for %v", consumer)
			}
			if ready, parked := x.s.queue.Len(); ready+parked+len(x.s.held)+len(x.s.failures) > 0 {
				t.Errorf("%d ready, %d parked, held %v, failures %v", ready, parked, x.s.held, x.s.failures)
			}
		})
	}
}
