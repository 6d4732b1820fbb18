package scheduler

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	core "github.com/allot-dev/allot/api/core/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
)

// going are the pods that are being deleted, by name.
func (s *server) going() []string {
	var names []string
	for _, pod := range s.objects.pods.List() {
		if pod.DeletionTimestamp != nil {
			names = append(names, pod.Name)
		}
	}
	return names
}

// end has pods end that are being deleted, and does what the claim controller does then.
func (s *server) end(names ...string) {
	for _, name := range names {
		s.deletePod(name)
	}
	for _, claim := range s.objects.claims.List() {
		if claim.Status.Allocation != nil && len(claim.Status.ReservedFor) > 0 && s.orphaned(claim.Name) {
			s.claimForNewPod(claim.Name)
		}
	}
}

func (s *server) editGroup(name string, edit func(*scheduling.PodGroup)) {
	group := s.group(name).DeepCopy()
	edit(group)
	put(s, podGroups, group)
}

func groupPriority(n int32) func(*scheduling.PodGroup) {
	return func(group *scheduling.PodGroup) { group.Spec.Priority = &n }
}

// disrupted is what the DisruptionTarget condition of a pod says.
func disrupted(pod *core.Pod) string {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return ""
}

func (x *session) hasEvent(t *testing.T, want string) {
	t.Helper()
	if !slices.Contains(x.events, want) {
		t.Errorf("no event %q among\n%s", want, strings.Join(x.events, "\n"))
	}
}

// F65: who holds the device leaves, and who needs it more gets it; until then nobody else does.
func TestF65HigherPriorityTakesDevice(t *testing.T) {
	s := newServer(t)
	s.graceful = true
	s.addNode("n1", 10, 1)
	x := start(t, s)
	s.addClaim("low", 1)
	s.addPod("low", "", own("low"))
	x.pass(time.Second)
	s.addClaim("high", 1)
	s.addPod("high", "", own("high"), priority(1000))
	x.pass(5 * time.Second)
	if got, want := s.going(), []string{"low"}; !slices.Equal(got, want) {
		t.Fatalf("%v are leaving, want %v", got, want)
	}
	if got, want := disrupted(s.pod("low")), "True PreemptionByScheduler: default-scheduler: preempting to make room for pod high (priority 1000)"; got != want {
		t.Errorf("low says %q, want %q", got, want)
	}
	if got, want := s.message("high"), "preemption: not needed, waiting for terminating pods"; !strings.Contains(
		got, want,
	) {
		t.Errorf("high says %q, want %q", got, want)
	}
	if got := s.pod("high").Status.NominatedNodeName; got != "n1" {
		t.Errorf("high is nominated for %q", got)
	}
	x.hasEvent(t, "low Preempted: Preempted by pod high (priority 1000) on node n1")
	x.hasEvent(t, "high Preempting: Preempting 1 lower-priority pod(s) (low); waiting for them to terminate")
	if got, want := fmt.Sprint(x.meter.preempted), "[pod: 1 pods, 0 groups]"; got != want {
		t.Errorf("counted %s, want %s", got, want)
	}

	s.addClaim("other", 1)
	s.addPod("other", "", own("other"))
	x.pass(time.Second)
	s.end("low")
	x.pass(time.Second)
	if got, want := s.bound(""), []string{"high"}; !slices.Equal(got, want) {
		t.Fatalf("bound are %v, want %v", got, want)
	}

	s.addClaim("shared", 1)
	s.addGang("pg", 2, "shared")
	s.editGroup("pg", groupPriority(2000))
	s.addMembers("pg", 2, ofGroup("shared"))
	x.pass(time.Second)
	s.end("high")
	x.pass(time.Second)
	if got := s.bound("pg"); len(got) != 2 || len(x.s.state.Dump()) == 0 {
		t.Errorf("of the gang %v are bound", got)
	}
	x.clean(t)
}

// clean holds that nothing is remembered of preemptions that are over.
func (x *session) clean(t *testing.T) {
	t.Helper()
	if dump := x.s.state.Dump(); strings.Contains(dump, "kept for") || len(x.s.evicting.byPod)+len(x.s.alarms) > 0 {
		t.Errorf("something is remembered: %v, %v", x.s.evicting.byPod, x.s.alarms)
	}
}

// gangOnDevice is a gang of three that share the only device, as a victim for a pod.
func gangOnDevice(t *testing.T) *server {
	s := newServer(t)
	s.graceful = true
	s.addNode("n1", 10, 1)
	s.addClaim("shared", 1)
	s.addGang("g", 3, "shared")
	s.addMembers("g", 3, ofGroup("shared"))
	start(t, s).pass(time.Second)
	s.addClaim("high", 1)
	s.addPod("high", "", own("high"), priority(1000))
	return s
}

// R36: a gang leaves as a whole, and its claim is given back with its last pod, though its PodGroup
// is still there. Pods that replace the old ones do not hang on to the claim.
func TestPreemptionOfAGang(t *testing.T) {
	s := gangOnDevice(t)
	x := start(t, s)
	x.pass(time.Second)
	if got := s.going(); len(got) != 3 {
		t.Fatalf("%v are leaving", got)
	}
	condition := func() *metav1.Condition {
		return meta.FindStatusCondition(s.group("g").Status.Conditions, schedulingv1beta1.DisruptionTarget)
	}
	if c := condition(); c == nil || c.Status != metav1.ConditionTrue || c.Reason != "PreemptionByScheduler" ||
		!strings.Contains(c.Message, "pod high") {
		t.Errorf("the group's condition is %v", c)
	}
	x.hasEvent(t, "high Preempting: Preempting 3 lower-priority pod(s) (all of PodGroup g); waiting for them to terminate")
	for i := range 3 {
		s.addPod(fmt.Sprint("new-", i), "g", ofGroup("shared"))
	}
	s.end("g-0", "g-1")
	x.pass(2 * time.Second)
	if got := len(s.bound("")) + len(s.bound("g")); got != 1 { // g-2 is still there
		t.Fatalf("bound are %v and %v", s.bound(""), s.bound("g"))
	}
	if got, want := s.message("new-0"), "devices of ResourceClaim ns/shared are being reclaimed for pod ns/high"; !strings.Contains(
		got, want,
	) {
		t.Errorf("new-0 says %q, want %q", got, want)
	}
	s.end("g-2")
	x.pass(time.Second)
	if got := s.bound(""); !slices.Equal(got, []string{"high"}) || !slices.Equal(s.allocated(), []string{"high"}) ||
		len(s.bound("g")) > 0 {
		t.Fatalf("bound are %v and %v, devices have %v", got, s.bound("g"), s.allocated())
	}
	if c := condition(); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("the group's condition is %v", c)
	}
	s.end("high")
	x.pass(2 * time.Second)
	if got := s.bound("g"); len(got) != 3 {
		t.Errorf("of the group %v are bound in the end", got)
	}
	if c := condition(); c == nil || c.Status != metav1.ConditionFalse {
		t.Errorf("the group's condition is %v in the end", c)
	}
	x.clean(t)
}

// R36, R50: whenever the process ends, the gang leaves as a whole or stays, nobody else leaves, and
// the pod gets its place.
func TestPreemptionCrashAfterEachWrite(t *testing.T) {
	const most = 3 + 1 + 3 // three pods are told, and the group; three pods are deleted
	for writes := range most + 2 {
		t.Run(fmt.Sprint("writes=", writes), func(t *testing.T) {
			s := gangOnDevice(t)
			s.addNode("n2", 1, 0)
			s.addPod("bystander", "", func(pod *core.Pod) { pod.Spec.NodeName = "n2" })
			crashed(t, s, writes)
			x := start(t, s)
			x.pass(time.Second)
			if got := s.going(); len(got) != 3 || slices.Contains(got, "bystander") {
				t.Fatalf("%v are leaving", got)
			}
			s.addPod("late", "", func(pod *core.Pod) { pod.Spec.SchedulerName = corev1.DefaultSchedulerName })
			s.end("g-0", "g-1", "g-2")
			x.pass(15 * time.Second)
			if got := s.bound(""); !slices.Equal(got, []string{"bystander", "high", "late"}) {
				t.Errorf("bound are %v: %s", got, s.message("high"))
			}
			x.clean(t)
		})
	}
}

// R36, R50: whichever write of a preemption fails or loses its answer, it is completed.
func TestPreemptionWithAWriteThatFails(t *testing.T) {
	failure := apierrors.NewTimeoutError("no answer", 0)
	for at := range 3 + 1 + 3 { // three pods are told, and the group; three pods are deleted
		for _, made := range []bool{false, true} {
			t.Run(fmt.Sprintf("write %d, made %t", at, made), func(t *testing.T) {
				s := gangOnDevice(t)
				x := start(t, s)
				writes := 0
				fails := func(write string) bool {
					if !strings.HasPrefix(write, "evict ") && write != "group g" && !strings.HasPrefix(write, "tell g-") {
						return false
					}
					writes++
					return writes == at+1
				}
				if made {
					x.link.lose = fails
				} else {
					x.link.refuse = func(write string) error {
						if fails(write) {
							return failure
						}
						return nil
					}
				}
				x.pass(30 * time.Second)
				if got := s.going(); len(got) != 3 || writes <= at {
					t.Fatalf("%v are being deleted, after %v", got, x.link.writes)
				}
				s.end("g-0", "g-1", "g-2")
				x.pass(15 * time.Second)
				if got := s.bound(""); !slices.Equal(got, []string{"high"}) {
					t.Errorf("bound are %v: %s", got, s.message("high"))
				}
				x.clean(t)
			})
		}
	}
}

// A gang's place is kept as its victims leave, one after the other: those who matter less do not
// take what comes free.
func TestPlaceOfAGangIsKept(t *testing.T) {
	s := newServer(t)
	s.graceful = true
	s.addNode("n1", 4, 0)
	for i := range 4 {
		s.addPod(fmt.Sprint("low-", i), "")
	}
	start(t, s).pass(time.Second)
	s.addGang("g", 3)
	s.editGroup("g", groupPriority(1000))
	s.addMembers("g", 3)
	x := start(t, s)
	x.pass(2 * time.Second)
	going := s.going()
	if len(going) != 3 {
		t.Fatalf("%v are leaving", going)
	}
	for i, name := range going {
		s.addPod(fmt.Sprint("other-", i), "")
		s.end(name)
		x.pass(time.Second)
	}
	if got := s.bound("g"); len(got) != 3 || len(s.bound("")) != 1 {
		t.Errorf("bound are %v and %v", got, s.bound(""))
	}
	if len(s.going()) > 0 || len(x.meter.preempted) != 1 {
		t.Errorf("%v leave, %v", s.going(), x.meter.preempted)
	}
	x.clean(t)
}

// A pod that does not go though it should is waited for, for a while; then another has to go.
func TestStuckVictimIsNotWaitedForForever(t *testing.T) {
	s := newServer(t)
	s.graceful = true
	s.addNode("n1", 1, 0)
	s.addNode("n2", 1, 0)
	s.addPod("a", "")
	s.addPod("b", "", priority(10))
	x := start(t, s) // at second 1000 of the clock
	x.pass(time.Second)
	s.addPod("high", "", priority(1000))
	x.pass(40 * time.Second) // a should be gone at 1030
	if got := s.going(); !slices.Equal(got, []string{"a"}) {
		t.Fatalf("%v are leaving", got)
	}
	x.pass(30 * time.Second)
	if got := s.going(); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatalf("%v are leaving", got)
	}
	s.end("b")
	x.pass(time.Second)
	if got := s.pod("high").Spec.NodeName; got == "" {
		t.Errorf("high waits: %s", s.message("high"))
	}
	x.clean(t)
}

// Who waits for room is gone: its place is given up at once.
func TestPreemptorGoes(t *testing.T) {
	s := newServer(t)
	s.graceful = true
	s.addNode("n1", 1, 0)
	s.addPod("low", "")
	x := start(t, s)
	x.pass(time.Second)
	s.addPod("high", "", priority(1000))
	x.pass(time.Second)
	s.addPod("next", "")
	x.pass(time.Second)
	s.deletePod("high")
	x.pass(time.Second)
	s.end("low")
	x.pass(time.Second)
	if got := s.bound(""); !slices.Equal(got, []string{"next"}) {
		t.Errorf("bound are %v", got)
	}
	x.clean(t)
}

// Victims that cannot be deleted are tried again, and nobody else instead.
func TestEvictionFails(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1, 0)
	s.addNode("n2", 1, 0)
	s.addPod("a", "")
	s.addPod("b", "", priority(10))
	x := start(t, s)
	x.pass(time.Second)
	x.link.refuse = refuse("evict a")
	s.addPod("high", "", priority(1000))
	x.pass(30 * time.Second)
	if x.link.tried["evict a"] < 2 || x.link.tried["evict a"] > 40 || x.link.tried["evict b"] > 0 {
		t.Errorf("tried %v", x.link.tried)
	}
	x.link.refuse = nil
	x.pass(30 * time.Second)
	if got := s.bound(""); !slices.Equal(got, []string{"b", "high"}) {
		t.Errorf("bound are %v", got)
	}
	x.clean(t)
}

// Of a gang more are placed than it needs; those that are left over make room for themselves.
func TestLeftOverMembersPreempt(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 0)
	s.addPod("low", "")
	x := start(t, s)
	x.pass(time.Second)
	s.addGang("g", 2)
	s.editGroup("g", groupPriority(1000))
	s.addMembers("g", 4)
	x.pass(3 * time.Second)
	if got := s.bound("g"); len(got) != 4 {
		t.Errorf("bound are %v", got)
	}
	x.clean(t)
}

// Who waits for devices is tried again when their holder gets its node: a scheduler before this one
// had only given it its devices, so it could not be made to leave. There is a group that is less
// important, and has nothing.
func TestHolderWithoutNodeIsPreemptedLater(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 0)
	s.addFabric(1)
	s.addGang("idle", 3)
	s.addClaimOf("net", "low", 1)
	s.addPod("low", "", priority(1000), own("low"))
	before := start(t, s)
	before.pass(time.Second) // the claim has its device, which is not ready
	if s.device("low") == "" || len(s.bound("low")) > 0 {
		t.Fatalf("device %q, bound %v", s.device("low"), s.bound("low"))
	}
	s.addClaimOf("net", "high", 1)
	s.addPod("high", "", priority(2000), own("high"))
	x := start(t, s)
	x.pass(time.Second)
	s.report("low", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	s.end(s.going()...)
	x.pass(time.Second)
	if low, ok := s.objects.pods.Get(ns, "low"); ok {
		t.Errorf("the holder stays, on node %q: %s", low.Spec.NodeName, s.message("high"))
	}
}

// The holder of the device that is needed gets its node later, as above, and there is a group
// without pods whose device does not help.
func TestHolderWithoutNodeIsPreemptedDespiteAnIdleGroup(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addFabric(1)
	s.addGang("idle", 1, "gpu")
	s.addClaim("gpu", 1)
	s.addPod("idle-0", "idle", ofGroup("gpu"))
	start(t, s).pass(time.Second)
	s.deletePod("idle-0")
	s.addClaimOf("net", "low", 1)
	s.addPod("low", "", priority(1000), own("low"))
	start(t, s).pass(time.Second) // the claim has its device, which is not ready
	if s.device("gpu") == "" || s.device("low") == "" || len(s.bound("low")) > 0 {
		t.Fatalf("devices %q and %q, bound %v", s.device("gpu"), s.device("low"), s.bound("low"))
	}
	s.addClaimOf("net", "high", 1)
	s.addPod("high", "", priority(2000), own("high"))
	x := start(t, s)
	x.pass(time.Second)
	s.report("low", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	s.end(s.going()...)
	x.pass(time.Second)
	if low, ok := s.objects.pods.Get(ns, "low"); ok {
		t.Errorf("the holder stays, on node %q: %s", low.Spec.NodeName, s.message("high"))
	}
}

// A victim hears once that it was chosen, also when the answer to that was lost and the cache is
// behind.
func TestVictimIsMarkedOnce(t *testing.T) {
	s := newServer(t)
	s.graceful = true
	s.addNode("n1", 10, 1)
	s.addClaim("low", 1)
	s.addPod("low", "", own("low"))
	start(t, s).pass(time.Second)
	s.addClaim("high", 1)
	s.addPod("high", "", own("high"), priority(1000))
	x := start(t, s)
	x.link.lose = func(write string) bool {
		x.deaf = x.deaf || write == "tell low"
		return write == "tell low" && x.link.tried[write] == 1
	}
	x.pass(5 * time.Second)
	if got := s.going(); !slices.Equal(got, []string{"low"}) {
		t.Errorf("%v are leaving", got)
	}
	if n := count(x.link.writes, "tell low"); n != 1 || x.link.tried["tell low"] < 2 {
		t.Errorf("%d of %d marks were written: %q", n, x.link.tried["tell low"], x.link.writes)
	}
}

// Members of a gang that waits for victims are nominated for the nodes that are kept for them, and
// no longer than that: until they are bound, cannot be placed there any more, or are too few. Each
// change is written once for a pod.
func TestMembersAreNominatedWhileVictimsTerminate(t *testing.T) {
	for end, then := range map[string]struct {
		happens func(s *server)
		bound   int
	}{
		"the victims end":     {func(s *server) { s.end("low-0"); s.end("low-1") }, 2},
		"a member is deleted": {func(s *server) { s.deletePod("high-1") }, 0},
		"the priority falls":  {func(s *server) { s.editGroup("high", groupPriority(-1)) }, 0},
		"a member is gated":   {func(s *server) { s.addPod("high-9", "high", gated) }, 0},
	} {
		t.Run(end, func(t *testing.T) {
			s := newServer(t)
			s.graceful = true
			s.addNode("n1", 1, 0)
			s.addNode("n2", 1, 0)
			x := start(t, s)
			s.addPod("low-0", "")
			s.addPod("low-1", "")
			x.pass(time.Second)
			s.addGang("high", 2)
			s.editGroup("high", groupPriority(1000))
			s.addMembers("high", 2)
			x.idle()
			nodes := []string{s.pod("high-0").Status.NominatedNodeName, s.pod("high-1").Status.NominatedNodeName}
			if slices.Sort(nodes); !slices.Equal(nodes, []string{"n1", "n2"}) {
				t.Errorf("nominated for %q", nodes)
			}
			x.pass(10 * time.Second)
			then.happens(s)
			x.pass(10 * time.Second)
			if got := len(s.bound("high")); got != then.bound {
				t.Errorf("%d are bound", got)
			}
			if got := s.pod("high-0").Status.NominatedNodeName; then.bound == 0 && got != "" {
				t.Errorf("still nominated for %q", got)
			}
			if got := count(x.link.writes, "tell high-0"); got > 4 {
				t.Errorf("%d writes of the status of one pod: %q", got, x.link.writes)
			}
		})
	}
}
