package scheduler

import (
	"slices"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	resource "github.com/allot-dev/allot/api/resource/v1"
	scheduling "github.com/allot-dev/allot/api/scheduling/v1beta1"
	"github.com/allot-dev/allot/internal/model"
)

// tied is a server with a claim whose device is on n1, where there is no room, while n2 has room
// and a device.
func tied(t *testing.T, edit func(*resource.ResourceClaim)) *server {
	t.Helper()
	s := newServer(t)
	s.addNode("n1", 1, 1)
	s.addClaim("c", 1)
	s.addPod("first", "", own("c"))
	start(t, s).idle()
	s.editPod("first",
		func(pod *core.Pod) { pod.Spec.ResourceClaims = nil }) // it takes up the room, and leaves the claim alone
	claim := s.claim("c").DeepCopy()
	claim.Status.ReservedFor = nil
	edit(claim)
	put(s, claimed, claim)
	s.addNode("n2", 4, 1)
	return s
}

// R17: a pod that cannot be placed where its claim's device is gets a device on another node, if
// nobody else has to do with the claim.
func TestDeallocateInFavourOfAnotherNode(t *testing.T) {
	nobody := func(*resource.ResourceClaim) {}
	for _, test := range []struct {
		name  string
		edit  func(*resource.ResourceClaim)
		moved bool
	}{
		{"reserved for nobody", nobody, true},
		{"reserved for a pod that is on a node", reservedFor(model.PodConsumer("first", "first-3")), false},
		{"reserved for a PodGroup", reservedFor(model.GroupConsumer("other", "other")), false},
		{"reserved for a job", reservedFor(model.Consumer{APIGroup: "batch", Resource: "jobs", Name: "j", UID: "j"}), false},
		{"reserved for any pod", func(c *resource.ResourceClaim) {
			reservedFor(model.Consumer{APIGroup: "batch", Resource: "jobs", Name: "j", UID: "j"})(c)
			c.Status.Allocation.ReservedForAnyPod = ptr.To(true)
		}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := tied(t, test.edit)
			s.addPod("p", "", own("c"))
			x := start(t, s)
			x.pass(3 * time.Second)
			bound := slices.Contains(s.bound(""), "p")
			if bound != test.moved || bound && s.pod("p").Spec.NodeName != "n2" {
				t.Errorf("p is on %q, told %q", s.pod("p").Spec.NodeName, s.message("p"))
			}
			if s.device("c") == "" {
				t.Error("the claim has lost its device")
			}
		})
	}
}

func reservedFor(consumer model.Consumer) func(*resource.ResourceClaim) {
	return func(c *resource.ResourceClaim) { c.Status.ReservedFor = []model.Consumer{consumer} }
}

// Reserved for the pod alone: the process ended before its bind, and then the room went.
func TestDeallocateOwnClaim(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1, 1)
	s.addClaim("c", 1)
	s.addPod("p", "", own("c"))
	crashed(t, s, 2)
	s.addPod("rival", "", priority(1000), patient)
	x := start(t, s)
	x.idle()
	if got := s.bound(""); !slices.Equal(got, []string{"rival"}) {
		t.Fatalf("bound %v", got)
	}
	if got := s.device("c"); got != "" {
		t.Errorf("the claim of a pod that cannot be placed holds %s", got)
	}
	s.addNode("n2", 4, 1)
	x.pass(time.Second)
	if got := s.pod("p").Spec.NodeName; got != "n2" {
		t.Errorf("p is on %q, told %q", got, s.message("p"))
	}
}

// A pod that uses a claim without standing in its list keeps it all the same.
func TestNoDeallocationUnderAPodThatRuns(t *testing.T) {
	s := tied(t, func(*resource.ResourceClaim) {})
	s.editPod("first", own("c"))
	s.addPod("p", "", own("c"))
	x := start(t, s)
	x.pass(3 * time.Second)
	if got := s.bound(""); slices.Contains(got, "p") || count(x.link.writes, "status c") > 0 {
		t.Errorf("bound %v, writes %q", got, x.link.writes)
	}
}

// Another member of a group that runs does not keep a pod's own claim on a node that is full; what
// the group shares stays.
func TestDeallocateOwnClaimOfAMember(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 2, 2)
	s.addClaim("shared", 1)
	s.addClaim("mine", 1)
	s.addGang("g", 0, "shared")
	s.addPod("g-0", "g", ofGroup("shared"))
	x := start(t, s)
	x.pass(time.Second)
	s.addPod("g-1", "g", own("mine"))
	x.s.runConcurrently = func(func()) {} // the process ends
	claimOnly := start(t, s)
	claimOnly.link.left = 2
	claimOnly.idle()
	if s.device("mine") == "" || len(s.bound("g")) != 1 {
		t.Fatalf("writes = %q", claimOnly.link.writes)
	}
	s.addRoom("n1", 1)
	s.addNode("n2", 4, 1)
	y := start(t, s)
	y.pass(2 * time.Second)
	if got := s.pod("g-1").Spec.NodeName; got != "n2" || s.device("shared") == "" ||
		count(y.link.writes, "status shared") > 0 {
		t.Errorf("g-1 is on %q, writes %q", got, y.link.writes)
	}
}

// A group that has run keeps its devices while it is empty, also when the cache does not show yet
// that it has.
func TestNoDeallocationOfAGroupThatHasRun(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	s.addGang("g", 2, "c")
	s.addMembers("g", 2, ofGroup("c"))
	start(t, s).pass(time.Second)
	if got := s.bound("g"); len(got) != 2 {
		t.Fatalf("bound %v", got)
	}
	for _, name := range s.bound("g") {
		s.deletePod(name)
	}
	has := s.group("g").DeepCopy()
	s.editGroup("g", func(group *scheduling.PodGroup) { group.Status.Conditions = nil })
	x := start(t, s)
	x.deaf = true
	has.ResourceVersion = s.group("g").ResourceVersion
	put(s, podGroups, has)
	x.pass(30 * time.Second)
	if s.device("c") == "" {
		t.Error("the group has lost its device")
	}
	if n := x.link.tried["read group g"]; n < 1 || n > 20 {
		t.Errorf("the group was read %d times", n)
	}
	x.deaf = false
	x.pass(time.Minute)
	if s.device("c") == "" {
		t.Error("the group has lost its device in the end")
	}
}

// F64: a gang of another scheduler keeps the devices of its claim between that scheduler's two
// writes, claim and binds.
func TestNoDeallocationUnderAnotherScheduler(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 1)
	s.addClaim("c", 1)
	s.addPod("first", "", own("c"))
	start(t, s).idle()
	s.deletePod("first")
	other := func(pod *core.Pod) { pod.Spec.SchedulerName = "other" }
	s.addGang("g", 2, "c")
	x := start(t, s)
	s.addPod("g-0", "g", ofGroup("c"), other)
	x.pass(time.Second)
	claim := s.claim("c").DeepCopy() // as the other scheduler writes it
	reservedFor(model.GroupConsumer("g", s.group("g").UID))(claim)
	put(s, claimed, claim)
	s.addPod("g-1", "g", ofGroup("c"), other) // seen after the claim: its watch is another one
	x.pass(time.Minute)
	if s.device("c") == "" {
		t.Errorf("the group of another scheduler has lost its device: writes %q", x.link.writes)
	}
}
