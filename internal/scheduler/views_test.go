package scheduler

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// used are the devices that claims have, by the API.
func (s *server) used() []string {
	var list []string
	for _, claim := range s.objects.claims.List() {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			list = append(list, model.DeviceIDOf(result).String())
		}
	}
	slices.Sort(list)
	return list
}

// used are the devices that the scheduler believes to be used.
func (x *session) used() []string {
	var list []string
	for _, slice := range x.server.objects.slices.List() {
		for i := range slice.Spec.Devices {
			id := model.DeviceID{Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: slice.Spec.Devices[i].Name}
			if len(x.s.state.Devices.Holders(id)) > 0 {
				list = append(list, id.String())
			}
		}
	}
	slices.Sort(list)
	return list
}

// F67: two racks of 18 nodes with four devices each, two gangs of 16 members that want whole nodes,
// which come and go 200 times. The scheduler's view of the devices is always the API's, and a new
// scheduler sees the same; the second gang is always placed on what the first one leaves.
func TestF67ViewsAgree(t *testing.T) {
	s := newServer(t)
	for i := range 36 {
		s.addNode(fmt.Sprintf("n%02d", i), 1, 4)
	}
	s.addFabricOf("net", 2)
	x := start(t, s)
	for round := range 200 {
		for _, gang := range []string{"a", "b"} {
			s.addRackGang(gang, round)
		}
		x.idle()
		for _, gang := range []string{"a", "b"} {
			if got := len(s.bound(fmt.Sprint(gang, round))); got != 16 {
				t.Fatalf("round %d: %d members of %s are bound", round, got, gang)
			}
		}
		if round%3 > 0 { // now one goes, now both, in one order and the other
			s.removeGang(fmt.Sprint("a", round))
			x.see(round)
		}
		s.removeGang(fmt.Sprint("b", round))
		if round%3 == 0 {
			s.removeGang(fmt.Sprint("a", round))
		}
		x.idle()
		if round%10 == 9 {
			x.agree(round)
		}
	}
	x.pass(time.Minute)
	x.agree(200)
}

func (x *session) agree(round int) {
	x.t.Helper()
	if have, want := x.used(), x.server.used(); !slices.Equal(have, want) {
		x.t.Fatalf("round %d: the scheduler believes %v to be used, the API has %v", round, have, want)
	}
	if err := x.s.state.Audit(); err != nil {
		x.t.Fatalf("round %d: %v", round, err)
	}
	fresh := start(x.t, x.server)
	fresh.s.feed.Apply(fresh.s.state)
	if have, want := x.s.state.Dump(), fresh.s.state.Dump(); have != want {
		x.t.Fatalf("round %d: the state is\n%s\nand of a new scheduler\n%s", round, have, want)
	}
}

// addRackGang adds a gang of 16 that share a fabric device, and want a node each.
func (s *server) addRackGang(gang string, round int) {
	name := fmt.Sprint(gang, round)
	s.addGang(name, 16, name)
	s.addClaimOf("net", name, 1)
	for i := range 16 {
		pod := fmt.Sprintf("%s-%02d", name, i)
		s.addClaim(pod, 4)
		s.addPod(pod, name, ofGroup(name), own(pod))
	}
}

// removeGang does what a user and the controllers do: pods, claims and group go.
func (s *server) removeGang(name string) {
	pods := map[string]bool{}
	for _, pod := range s.objects.pods.List() {
		if group := pod.Spec.SchedulingGroup; group != nil && *group.PodGroupName == name {
			pods[pod.Name] = true
		}
	}
	for _, pod := range slices.Sorted(maps.Keys(pods)) {
		s.deletePod(pod)
		s.record(func(k *kinds) { k.claims.Delete(ns, pod) })
	}
	s.record(func(k *kinds) { k.claims.Delete(ns, name) })
	s.deleteGroup(name)
}

// F19: a PodGroup is made anew under its name, and pods come before it does. The new pods follow
// the new group's policy, and what the old group has reserved is not theirs.
func TestF19GroupMadeAnew(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 8, 2)
	s.addClaim("old", 1)
	s.addGang("g", 2, "old")
	s.addMembers("g", 2, ofGroup("old"))
	x := start(t, s)
	x.pass(time.Second)
	oldUID := s.group("g").UID
	for i := range 2 {
		s.deletePod(fmt.Sprint("g-", i))
	}
	s.deleteGroup("g")
	s.addClaim("new", 1)
	s.addPod("g-0", "g", ofGroup("new"))
	x.pass(time.Second) // the pod is known before its group
	if got := s.bound("g"); len(got) > 0 {
		t.Fatalf("bound %v", got)
	}
	s.addGang("g", 1, "new")
	x.pass(time.Second)
	if got := s.bound("g"); len(got) != 1 {
		t.Errorf("bound %v, %s", got, s.message("g-0"))
	}
	consumers := s.claim("new").Status.ReservedFor
	if len(consumers) != 1 || consumers[0].UID != s.group("g").UID || consumers[0].UID == oldUID {
		t.Errorf("reserved for %v", consumers)
	}
	if s.device("new") == s.device("old") {
		t.Errorf("both claims have %s", s.device("new"))
	}
}

// F27: the members of a gang name different schedulers. None is bound, the reason names the one
// that is lacking, and replacing it is all that is needed.
func TestF27MembersOfTwoSchedulers(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 0)
	x := start(t, s)
	s.addGang("g", 2)
	s.addPod("g-0", "g")
	s.addPod("g-1", "g", func(pod *core.Pod) { pod.Spec.SchedulerName = "other" })
	x.pass(5 * time.Second)
	if got := s.bound("g"); len(got) > 0 {
		t.Errorf("bound %v", got)
	}
	if got := s.message("g-0"); got != "Unschedulable: 1 of 2 pods have schedulerName default-scheduler, pod g-1 has schedulerName other: a gang is placed by one scheduler" {
		t.Errorf("told %q", got)
	}
	s.deletePod("g-1")
	s.addPod("g-2", "g")
	x.pass(2 * time.Second)
	if got := s.bound("g"); len(got) != 2 {
		t.Errorf("bound %v, %s", got, s.message("g-0"))
	}
}
