package scheduler

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	core "github.com/allot-dev/allot/api/core/v1"
	"github.com/allot-dev/allot/internal/model"
)

// A gang whose pods are made one by one, each later than the one before, is quiet.
func TestNoEventWarnsOfAGangThatIsBeingMade(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 0)
	x := start(t, s)
	s.addGang("g", 3)
	x.pass(4 * time.Second)
	for _, pod := range []string{"g-0", "g-1", "g-2"} {
		s.addPod(pod, "g")
		x.pass(4 * time.Second)
	}
	if diff := cmp.Diff([]string{"g Scheduled: 3 of 3 pods are placed"}, x.events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// One whose pods stop coming is warned of, itself and its pods, once; so is one that loses a pod
// later.
func TestEventsWarnOfAGangThatLacksPods(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 0)
	x := start(t, s)
	s.addGang("g", 3)
	s.addMembers("g", 2)
	x.pass(30 * time.Second)
	want := []string{
		"g Unschedulable: 2 of 3 pods exist",
		"g-0 FailedScheduling: PodGroup g is not scheduled: 2 of 3 pods exist",
		"g-1 FailedScheduling: PodGroup g is not scheduled: 2 of 3 pods exist",
	}
	if diff := cmp.Diff(want, sorted(x.events)); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	x.events = nil
	s.deletePod("g-1")
	s.addPod("g-9", "g", func(pod *core.Pod) { pod.CreationTimestamp = metav1.NewTime(x.clock.Now()) })
	x.pass(30 * time.Second)
	if diff := cmp.Diff([]string{"g-9 FailedScheduling: PodGroup g is not scheduled: 2 of 3 pods exist"},
		x.events); diff != "" {
		t.Errorf("events after a pod was replaced (-want +got)\n%s", diff)
	}
}

// A scheduler that is started again warns once of what the one before had written in the condition
// only, and says nothing anew of groups that are placed.
func TestEventsWarnOfAGangAfterARestart(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 0)
	s.addGang("placed", 1)
	s.addMembers("placed", 1)
	s.addGang("g", 3)
	s.addMembers("g", 2)
	x := start(t, s)
	x.pass(4 * time.Second)
	if diff := cmp.Diff([]string{"placed Scheduled: 1 of 1 pods are placed"}, x.events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
	if c := s.group("g").Status.Conditions; len(c) == 0 || c[0].Message != "2 of 3 pods exist" {
		t.Errorf("conditions = %v", c)
	}
	y := start(t, s)
	y.pass(4 * time.Second)
	if len(y.events) > 0 {
		t.Errorf("events at once: %q", y.events)
	}
	y.pass(30 * time.Second)
	want := []string{
		"g Unschedulable: 2 of 3 pods exist",
		"g-0 FailedScheduling: PodGroup g is not scheduled: 2 of 3 pods exist",
		"g-1 FailedScheduling: PodGroup g is not scheduled: 2 of 3 pods exist",
	}
	if diff := cmp.Diff(want, sorted(y.events)); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// A group that has no place explains itself within little more than a second, and says the latest
// reason.
func TestEventsWarnOfAGangWithoutPlace(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 1, 0)
	x := start(t, s)
	s.addGang("g", 2)
	s.addMembers("g", 2)
	x.pass(500 * time.Millisecond)
	if len(x.events) > 0 {
		t.Errorf("events at once: %q", x.events)
	}
	x.pass(time.Second)
	if len(x.events) != 3 || !slices.ContainsFunc(x.events, func(e string) bool {
		return strings.HasPrefix(e,
			"g-1 FailedScheduling: PodGroup g is not scheduled: 1 of 2 pods fit together; pod g-1: 0/1 nodes are available: ")
	}) {
		t.Errorf("events = %q", x.events)
	}
	x.pass(10 * time.Second)
	if len(x.events) != 3 {
		t.Errorf("events later = %q", x.events)
	}
}

// A gang that has no place for a moment only is not warned of.
func TestNoEventWarnsOfAMoment(t *testing.T) {
	s := newServer(t)
	x := start(t, s)
	s.addGang("g", 2)
	s.addMembers("g", 2)
	x.pass(600 * time.Millisecond)
	s.addNode("n1", 2, 0)
	x.pass(10 * time.Second)
	if diff := cmp.Diff([]string{"g Scheduled: 2 of 2 pods are placed"}, x.events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

// Of a large gang some members have the event for all, also when their conditions come late.
func TestNotAllMembersAreWarned(t *testing.T) {
	s := newServer(t)
	x := start(t, s)
	s.addGang("g", 200)
	s.addMembers("g", 200)
	x.link.refuse = func(write string) error {
		if strings.HasPrefix(write, "tell g-1") {
			return errors.New("busy")
		}
		return nil
	}
	x.pass(3 * time.Second)
	x.link.refuse = nil
	x.pass(3 * time.Second)
	if n := len(x.events); n < memberWarningsBurst || n > 2*memberWarningsBurst {
		t.Errorf("%d events", n)
	}
}

// A new generation of the spec alone is no news.
func TestAnEventIsPublishedOnce(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 2, 0)
	x := start(t, s)
	s.addGang("g", 2)
	s.addMembers("g", 2)
	x.pass(10 * time.Second)
	group := s.group("g").DeepCopy()
	group.Generation++
	put(s, podGroups, group)
	x.pass(10 * time.Second)
	if got := s.group("g").Status.Conditions[0].ObservedGeneration; got != s.group("g").Generation {
		t.Errorf("generation %d is observed", got)
	}
	if diff := cmp.Diff([]string{"g Scheduled: 2 of 2 pods are placed"}, x.events); diff != "" {
		t.Errorf("events (-want +got)\n%s", diff)
	}
}

func TestMemberEventsAreShort(t *testing.T) {
	if got := memberEvent("g", strings.Repeat("word ", 60)); len(got) > longestMemberEvent+len(" …") ||
		!strings.HasSuffix(got, "word …") {
		t.Errorf("%q", got)
	}
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

// G27: a gang whose pods a StatefulSet creates one by one says so, and what to do; the set is
// looked up once.
func TestGangOfAnOrderedStatefulSet(t *testing.T) {
	for set, want := range map[string]string{
		"ordered":  "False: 1 of 3 pods exist; StatefulSet ordered creates each pod only when the previous one is ready: set podManagementPolicy: Parallel",
		"parallel": "False: 1 of 3 pods exist",
	} {
		s := newServer(t)
		x := start(t, s)
		s.addGang("g", 3)
		s.addPod("g-0", "g", func(pod *core.Pod) {
			pod.OwnerReferences = []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "StatefulSet", Name: set, UID: "set", Controller: ptr.To(true)},
			}
		})
		x.pass(20 * time.Second)
		if got := s.scheduled("g"); got != want {
			t.Errorf("the group's condition is %q", got)
		}
		if got, want := s.message("g-0"), strings.Replace(want, "False", "Unschedulable", 1); got != want {
			t.Errorf("the pod's condition is %q", got)
		}
		if got := x.link.tried["read set "+set]; got != 1 {
			t.Errorf("%s is read %d times", set, got)
		}
	}
}

// unreadableSets fails to read StatefulSets, and counts the requests.
type unreadableSets struct {
	groupWriter
	requests int
}

func (u *unreadableSets) OrderedSet(context.Context, model.Key, types.UID) (bool, error) {
	u.requests++
	return false, errors.New("forbidden")
}

// A StatefulSet that cannot be read costs one request for a gang, not one a member.
func TestUnreadableStatefulSet(t *testing.T) {
	sets := &unreadableSets{}
	g := &groupStatus{write: sets, sets: map[types.UID]bool{}}
	var members []*core.Pod
	for range 3 {
		pod := &core.Pod{}
		pod.OwnerReferences = []metav1.OwnerReference{
			{Kind: "StatefulSet", Name: "set", UID: "set", Controller: ptr.To(true)},
		}
		members = append(members, pod)
	}
	if got := g.orderedSet(t.Context(), members); got != "" || sets.requests != 1 {
		t.Errorf("%q after %d requests, want no text after 1", got, sets.requests)
	}
}
