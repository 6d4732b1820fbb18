package scheduler

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

var errForbidden = apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "p", errors.New("not today"))

func refuse(write string) func(string) error {
	return func(w string) error {
		if w == write {
			return errForbidden
		}
		return nil
	}
}

func count(list []string, prefix string) int {
	n := 0
	for _, s := range list {
		if strings.HasPrefix(s, prefix) {
			n++
		}
	}
	return n
}

// F10: a gang that fails holds nothing, however often.
func TestFailedGangHoldsNothing(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 2)
	x := start(t, s)
	for round := range 50 {
		a, b := fmt.Sprintf("a%d", round), fmt.Sprintf("b%d", round)
		for _, gang := range []struct {
			name string
			size int
		}{{a, 4}, {b, 2}} {
			s.addGang(gang.name, int32(gang.size))
			for i := range gang.size {
				name := fmt.Sprintf("%s-%d", gang.name, i)
				s.addClaim(name, 1)
				s.addPod(name, gang.name, own(name))
			}
			x.idle()
		}
		if got := s.bound(b); len(got) != 2 {
			t.Fatalf("round %d: bound %v", round, got)
		}
		if got, want := s.allocated(), []string{b + "-0", b + "-1"}; !slices.Equal(got, want) {
			t.Fatalf("round %d: allocated %v, want %v", round, got, want)
		}
		for _, gang := range []string{a, b} {
			for _, pod := range s.objects.pods.List() {
				if pod.Spec.SchedulingGroup != nil && *pod.Spec.SchedulingGroup.PodGroupName == gang {
					s.deletePod(pod.Name)
					s.record(func(k *kinds) { k.claims.Delete(ns, pod.Name) })
				}
			}
			s.deleteGroup(gang)
		}
		x.idle()
	}
	x.pass(time.Minute)
	if ready, parked := x.s.queue.Len(); ready+parked+len(x.s.held)+len(
		x.s.failures,
	)+len(x.s.halfBound)+len(
		x.s.status.groups.verdicts,
	)+len(x.s.status.groups.counts)+len(
		x.s.status.pods.verdicts,
	) > 0 {
		t.Errorf("something is remembered of what is gone: %d ready, %d parked, %v, %v, %v, %v, %v", ready, parked, x.s.held,
			x.s.failures, x.s.status.groups.verdicts, x.s.status.groups.counts, x.s.status.pods.verdicts)
	}
}

// F20: of two gangs of which each could have half, one gets all; the other follows, in whatever
// order their pods come and are seen.
func TestTwoGangsDoNotShareTheCluster(t *testing.T) {
	for round := range 100 {
		t.Run(fmt.Sprint(round), func(t *testing.T) { twoGangsForOneNode(t, rand.New(rand.NewPCG(uint64(round), 0))) })
	}
}

func twoGangsForOneNode(t *testing.T, random *rand.Rand) {
	s := newServer(t)
	s.addNode("n1", 100, 4)
	x := start(t, s)
	s.addGang("a", 3)
	s.addGang("b", 3)
	for _, i := range random.Perm(6) {
		gang := []string{"a", "b"}[i%2]
		name := fmt.Sprintf("%s-%d", gang, i/2)
		s.addClaim(name, 1)
		s.addPod(name, gang, own(name))
		x.see(random.IntN(4))
		if random.IntN(2) == 0 {
			x.step()
		}
	}
	x.idle()
	first, second := "a", "b"
	if len(s.bound("a")) == 0 {
		first, second = second, first
	}
	if len(s.bound(first)) != 3 || len(s.bound(second)) != 0 || len(s.allocated()) != 3 {
		t.Fatalf("bound %v and %v, allocated %v", s.bound(first), s.bound(second), s.allocated())
	}
	for i := range 3 {
		s.editPod(fmt.Sprintf("%s-%d", first, i), func(pod *core.Pod) { pod.Status.Phase = corev1.PodSucceeded })
		s.claimForNewPod(fmt.Sprintf("%s-%d", first, i))
	}
	x.pass(time.Second)
	if got := s.bound(second); len(got) != 3 {
		t.Errorf("bound in the end: %v", got)
	}
}

// F21: who cannot fit does not starve others.
func TestHopelessGangDoesNotStarve(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 9)
	x := start(t, s)
	s.addGang("a", 10)
	for i := range 10 {
		name := fmt.Sprintf("a-%d", i)
		s.addClaim(name, 1)
		s.addPod(name, "a", own(name))
	}
	x.idle()
	s.addClaim("s", 1)
	s.addPod("s", "", own("s"))
	x.idle()
	if got := s.bound(""); !slices.Equal(got, []string{"s"}) || len(s.bound("a")) > 0 {
		t.Errorf("bound %v and %v", got, s.bound("a"))
	}
}

// The members of a large gang come one by one: those that do not make it whole are only counted,
// and it is tried once.
func TestMembersBelowQuorumAreNotTried(t *testing.T) {
	const members = 100
	s := newServer(t)
	s.addNode("n1", members, 1)
	s.addClaim("c", 1)
	x := start(t, s)
	s.addGang("g", members, "c")
	for i := range members {
		if x.idle(); x.attempts > 0 {
			t.Fatalf("%d attempts with %d members", x.attempts, i)
		}
		if _, parked := x.s.queue.Len(); i > 0 && parked != 1 {
			t.Fatalf("%d units are parked with %d members", parked, i)
		}
		s.addPod(fmt.Sprintf("g-%d", i), "g", ofGroup("c"))
	}
	x.idle()
	s.whole(t, "g", members)
	if x.attempts != 1 {
		t.Errorf("%d attempts", x.attempts)
	}
}

// F22: below quorum the group and each pod say so, once, those included that come in another's
// place.
func TestBelowQuorumIsSaidOnce(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 0)
	x := start(t, s)
	s.addGang("g", 4)
	s.addMembers("g", 3)
	x.pass(30 * time.Second)
	const want = "3 of 4 pods exist"
	condition := meta.FindStatusCondition(s.group("g").Status.Conditions, scheduling.PodGroupScheduled)
	if condition == nil || condition.Message != want {
		t.Errorf("the group's condition is %v", condition)
	}
	for i := range 3 {
		if got := s.message(fmt.Sprintf("g-%d", i)); got != "Unschedulable: "+want {
			t.Errorf("pod %d is told %q", i, got)
		}
	}
	if got := x.link.writes; len(got) != 4 {
		t.Errorf("writes = %q", got)
	}
	s.deletePod("g-2")
	s.addPod("g-9", "g")
	x.pass(30 * time.Second)
	if got := s.message("g-9"); got != "Unschedulable: "+want {
		t.Errorf("the replacement is told %q", got)
	}
	if got := x.link.writes; len(got) != 5 {
		t.Errorf("writes = %q", got)
	}
	s.addPod("g-3", "g")
	x.pass(time.Second)
	s.whole(t, "g", 4)
	if !meta.IsStatusConditionTrue(s.group("g").Status.Conditions, scheduling.PodGroupScheduled) {
		t.Errorf("conditions = %v", s.group("g").Status.Conditions)
	}
}

// F24: members that wait may go and be replaced; when all are gone, nothing is left.
func TestMembersOfAWaitingGangGo(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 2, 0)
	x := start(t, s)
	s.addGang("g", 4)
	s.addMembers("g", 4)
	x.pass(2 * time.Second)
	s.deletePod("g-0")
	s.deletePod("g-1")
	x.pass(4 * time.Second)
	if got := s.message("g-2"); got != "Unschedulable: 2 of 4 pods exist" {
		t.Errorf("told %q", got)
	}
	s.addPod("g-4", "g")
	s.addPod("g-5", "g")
	x.pass(4 * time.Second)
	if got := s.message("g-2"); !strings.Contains(got, "2 of 4 pods fit together") {
		t.Errorf("told %q", got)
	}
	for _, pod := range s.objects.pods.List() {
		s.deletePod(pod.Name)
	}
	s.deleteGroup("g")
	x.pass(2 * time.Second)
	if ready, parked := x.s.queue.Len(); ready+parked > 0 {
		t.Errorf("%d ready, %d parked", ready, parked)
	}
}

// F08: who names a PodGroup that does not exist waits, and is told so.
func TestMissingGroup(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	s.addMembers("g", 2, ofGroup("c"))
	x := start(t, s)
	x.pass(time.Minute)
	if got := s.message("g-1"); got != "Unschedulable: PodGroup ns/g does not exist" {
		t.Errorf("told %q", got)
	}
	if x.attempts > 2 {
		t.Errorf("%d attempts", x.attempts)
	}
	s.addGang("g", 0, "c")
	x.pass(time.Second)
	if got := s.bound("g"); len(got) != 2 {
		t.Errorf("bound %v", got)
	}
}

func TestPodsOfOthersAreLeftAlone(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 2, 0)
	other := func(pod *core.Pod) { pod.Spec.SchedulerName = "other" }
	s.addGang("g", 2)
	s.addPod("g-0", "g", other)
	s.addPod("g-1", "g")
	s.addPod("p", "", other)
	x := start(t, s)
	x.pass(time.Minute)
	if count(x.link.writes, "bind") > 0 || s.message("p") != "" || s.message("g-0") != "" {
		t.Errorf("writes = %q", x.link.writes)
	}
	// What others have bound uses up room, and is never rolled back.
	s.editPod("g-0", func(pod *core.Pod) { pod.Spec.NodeName = "n1" })
	s.editPod("p", func(pod *core.Pod) { pod.Spec.NodeName = "n1" })
	x.pass(time.Minute)
	if count(x.link.writes, "bind")+count(x.link.writes, "evict") > 0 {
		t.Errorf("writes = %q", x.link.writes)
	}
	s.deletePod("p")
	x.idle()
	if got := s.bound("g"); len(got) != 2 {
		t.Errorf("bound %v", got)
	}
}

// 1,000 groups that cannot be placed cost nothing as long as nothing changes, whatever their
// statuses do.
func TestIdleSchedulerMakesNoAttempts(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1, 0)
	for i := range 1000 {
		s.addGang(fmt.Sprint("g", i), 2)
		s.addMembers(fmt.Sprint("g", i), 2)
	}
	x := start(t, s)
	x.idle()
	if x.attempts != 1000 {
		t.Errorf("%d attempts for 1000 groups", x.attempts)
	}
	for range 20 {
		x.clock.Step(time.Second)
		x.idle()
	}
	if writes := len(x.link.writes); writes != 3000 {
		t.Errorf("%d writes of conditions for 1000 groups and 2000 pods", writes)
	}
	if x.attempts != 1000 {
		t.Errorf("%d attempts for 1000 groups", x.attempts)
	}
	// Room for one gang is room for one gang.
	s.addRoom("n1", 2)
	x.idle()
	if got := count(x.link.writes, "bind"); got != 2 {
		t.Errorf("%d binds", got)
	}
}

// F04: all pods of a large gang share a claim, which is written a constant number of times; so is
// the condition.
func TestLargeGang(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1100, 1)
	s.addClaim("c", 1)
	x := start(t, s)
	s.addGang("g", 1000, "c")
	x.idle()
	for i := range 1000 {
		s.addPod(fmt.Sprintf("g-%03d", i), "g", ofGroup("c"))
		if i%100 == 99 { // pods come over some seconds
			x.pass(500 * time.Millisecond)
		}
	}
	x.pass(5 * time.Second)
	if got := len(s.bound("g")); got != 1000 {
		t.Fatalf("%d bound", got)
	}
	if got := s.claim("c").Status.ReservedFor; len(got) != 1 {
		t.Errorf("reserved for %v", got)
	}
	if protects, statuses := count(x.link.writes, "protect c"), count(x.link.writes, "status c"); protects != 1 ||
		statuses != 1 {
		t.Errorf("the claim was written %d+%d times", protects, statuses)
	}
	if got := count(x.link.writes, "group g"); got > 3 {
		t.Errorf("the condition was written %d times", got)
	}
	if x.attempts > 2000 {
		t.Errorf("%d attempts", x.attempts)
	}
}

// KEP-5194: a claim that names its consumer serves 2,304 pods, and is written for the first of them
// alone.
func TestManyPodsOnOneNamedConsumer(t *testing.T) {
	const members = 2304
	s := newServer(t)
	s.addRoom("n1", members/2)
	s.addRoom("n2", members/2)
	s.addFabricOf("fabric", 1)
	s.addClaimOf("fabric", "c", 1)
	consumer := resourcev1.ResourceClaimConsumerReference{
		APIGroup: "example.com",
		Resource: "trainings",
		Name:     "t",
		UID:      "1",
	}
	claim := s.claim("c").DeepCopy()
	claim.Spec.ReservedFor = &consumer
	put(s, claimed, claim)
	x := start(t, s)
	for i := range members {
		s.addPod(fmt.Sprintf("p-%d", i), "", own("c"))
		if i%256 == 0 { // the first alone, the others over some seconds
			x.pass(500 * time.Millisecond)
		}
	}
	x.pass(5 * time.Second)
	if got := len(s.bound("")); got != members {
		t.Fatalf("%d bound", got)
	}
	status := s.claim("c").Status
	if diff := cmp.Diff([]resourcev1.ResourceClaimConsumerReference{consumer}, status.ReservedFor); diff != "" {
		t.Errorf("reserved for (-want +got):\n%s", diff)
	}
	if !ptr.Deref(status.Allocation.ReservedForAnyPod, false) {
		t.Error("the allocation is not for any pod")
	}
	if protects, statuses := count(x.link.writes, "protect c"), count(x.link.writes, "status c"); protects != 1 ||
		statuses != 1 {
		t.Errorf("the claim was written %d+%d times", protects, statuses)
	}
}

// F66: who has waited for minutes is bound within a second of the last piece that was missing, by a
// clock that says no more than that.
func TestF66BoundWithinASecond(t *testing.T) {
	s := newServer(t)
	s.addRoom("n1", 2)
	s.addClaim("c", 1)
	s.addPod("p", "", own("c"))
	s.addGang("g", 2)
	s.addMembers("g", 1)
	x := start(t, s)
	within := func(group string, want ...string) {
		t.Helper()
		x.pass(time.Second)
		if got := s.bound(group); !slices.Equal(got, want) {
			t.Errorf("bound %v, want %v", got, want)
		}
		x.pass(2 * time.Minute)
	}
	within("")
	s.addNode("n1", 2, 1) // with the class, too
	within("", "p")
	s.addClaim("d", 1)
	s.addPod("q", "", own("d"))
	within("", "p")
	s.deletePod("p")
	s.record(func(k *kinds) { k.claims.Delete(ns, "c") })
	within("", "q")
	s.addPod("g-1", "g")
	within("g")
	s.addRoom("n1", 3)
	within("g", "g-0", "g-1")
}

// A refused plan is made anew with a pause that grows.
func TestRefusedPlansAreRetriedWithGrowingDelay(t *testing.T) {
	for _, write := range []string{"status c", "bind p"} {
		t.Run(write, func(t *testing.T) {
			s := newServer(t)
			s.addNode("n1", 4, 1)
			s.addClaim("c", 1)
			s.addPod("p", "", own("c"))
			x := start(t, s)
			x.link.refuse = refuse(write)
			x.pass(10 * time.Second)
			if got := x.attempts; got < 5 || got > 9 {
				t.Errorf("%d attempts in 10 s", got)
			}
			if got := s.message("p"); !strings.HasPrefix(got, "SchedulerError: ") || !strings.Contains(got, "not today") ||
				count(x.link.writes, "tell") != 1 {
				t.Errorf("told %q, writes %q", got, x.link.writes)
			}
			x.link.refuse = nil
			x.pass(10 * time.Second)
			if got := s.bound(""); len(got) != 1 {
				t.Errorf("bound %v", got)
			}
			if len(x.s.failures)+len(x.s.held) > 0 {
				t.Errorf("failures %v, held %v", x.s.failures, x.s.held)
			}
		})
	}
}

// What happens to a pod while its plan is written does not make the pauses short again.
func TestPausesGrowWhateverHappens(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 0)
	s.addPod("p", "")
	x := start(t, s)
	x.link.refuse = refuse("bind p")
	for i := range 200 {
		x.see(10)
		x.step()
		s.editPod("p", func(pod *core.Pod) { pod.Labels = map[string]string{"i": fmt.Sprint(i)} })
		x.see(10)
		x.step()
		x.job()
		x.clock.Step(50 * time.Millisecond)
	}
	if got := x.attempts; got > 9 {
		t.Errorf("%d attempts in 10 s", got)
	}
}

// A cache that lags behind costs some attempts, and does no harm.
func TestStaleCache(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	s.addPod("p", "", own("c"))
	x := start(t, s)
	x.deaf = true
	// Somebody has changed the claim, and somebody has taken the pod away.
	edited := s.claim("c").DeepCopy()
	edited.Labels = map[string]string{"kept": "yes"}
	put(s, claimed, edited)
	s.deletePod("p")
	x.pass(10 * time.Second)
	if x.attempts > 9 {
		t.Errorf("%d attempts", x.attempts)
	}
	if s.claim("c").Labels["kept"] != "yes" {
		t.Error("somebody's change was overwritten")
	}
	x.deaf = false
	x.pass(10 * time.Second)
	if len(x.s.failures)+len(x.s.held) > 0 {
		t.Errorf("failures %v, held %v", x.s.failures, x.s.held)
	}
}

// Answers that get lost change nothing in the end: no write is made twice, nothing is refused or
// taken back.
func TestLostAnswers(t *testing.T) {
	for _, lost := range []string{"protect", "status", "bind"} {
		t.Run(lost, func(t *testing.T) {
			s := crashServer(t)
			x := start(t, s)
			x.link.lose = func(write string) bool { return strings.HasPrefix(write, lost) && x.link.tried[write] == 1 }
			x.idle()
			s.whole(t, "g", 4)
			if got := s.bound("g"); len(got) != 4 {
				t.Errorf("bound %v", got)
			}
			if got := count(x.link.writes, "status"); got != 2 {
				t.Errorf("writes = %q", x.link.writes)
			}
		})
	}
}

// Devices that a unit got and cannot use any more (the process ended before its binds, then others
// took the room) are given back, and the unit is placed with others.
func TestUnusableDevicesAreGivenBack(t *testing.T) {
	s := crashServer(t)
	s.addNode("n2", 8, 0)
	crashed(t, s, 4)
	if got := s.allocated(); len(got) != 2 {
		t.Fatalf("allocated %v", got)
	}
	s.addRoom("n1", 1)
	s.addNode("n3", 4, 2)
	x := start(t, s)
	x.pass(time.Second)
	s.whole(t, "g", 4)
	for _, name := range s.bound("g") {
		if got := s.pod(name).Spec.NodeName; got != "n3" {
			t.Errorf("%s is on %s", name, got)
		}
	}
}

// F09: a group that has run keeps its devices for the members that replace the old ones.
func TestGroupThatRanKeepsItsDevices(t *testing.T) {
	s := crashServer(t)
	x := start(t, s)
	x.pass(time.Second)
	for i := range 4 {
		s.deletePod(fmt.Sprintf("g-%d", i))
	}
	s.addPod("g-5", "g", ofGroup("shared"))
	x.pass(30 * time.Second)
	if s.claim("shared").Status.Allocation == nil {
		t.Error("the devices are gone")
	}
}

// A pod is not bound on the strength of a reservation that another plan is still writing.
func TestReservationIsThereBeforeTheBind(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	s.addPod("first", "", own("c"))
	x := start(t, s)
	x.idle()
	s.deletePod("first")
	released := s.claim("c").DeepCopy()
	released.Status.ReservedFor = nil // allocated, and free to use
	put(s, claimed, released)
	x.idle()
	s.addGang("g", 0, "c")
	s.addPod("g-0", "g", ofGroup("c"))
	x.see(10)
	x.step()
	x.link.refuse = refuse("status c")
	s.addPod("g-1", "g", ofGroup("c"))
	x.see(10)
	x.step()
	if len(x.jobs) != 1 {
		t.Errorf("%d plans are being written", len(x.jobs))
	}
	x.idle()
	x.link.refuse = nil
	x.pass(time.Second)
	if got := s.bound("g"); len(got) != 2 {
		t.Errorf("bound %v", got)
	}
}

// A pod that was made anew while the bind of its namesake failed loses nothing by that.
func TestPodMadeAnewWhileItsBindFails(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1, 0)
	s.addPod("p", "")
	x := start(t, s)
	x.see(10)
	x.step() // the plan is not written yet
	s.deletePod("p")
	s.addPod("p", "")
	x.see(10)
	x.step()
	x.deaf = true // the bind is not seen when the first plan is forgotten
	x.pass(time.Second)
	if got := x.link.tried["bind p"]; len(s.bound("")) != 1 || got != 2 {
		t.Errorf("bound %v, after %d binds", s.bound(""), got)
	}
}

// Two schedulers on one API: no claim is allocated twice, as the second to write sees the first.
// (That no device is given to two claims is for the server to hold; servertest races for that.)
func TestTwoSchedulers(t *testing.T) {
	s := newServer(t)
	double := false
	s.taken = func(*resource.ResourceClaim) bool { double = true; return true }
	s.addNode("n1", 8, 1)
	s.addNode("n2", 8, 1)
	s.addClaim("c", 1)
	s.addGang("g", 2, "c")
	s.addMembers("g", 2, ofGroup("c"))
	a, b := start(t, s), start(t, s)
	for _, x := range []*session{a, b} {
		x.see(100)
		for x.step() {
		}
	}
	for a.job() || b.job() {
	}
	a.pass(time.Second)
	b.pass(time.Second)
	s.whole(t, "g", 2)
	if got := s.bound("g"); len(got) != 2 || count(a.link.writes, "status c")+count(b.link.writes, "status c") != 1 {
		t.Errorf("bound %v, writes %q and %q", got, a.link.writes, b.link.writes)
	}
	if double {
		t.Error("one claim cannot be two")
	}
}
