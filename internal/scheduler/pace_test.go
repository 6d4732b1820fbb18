package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	core "github.com/allot-dev/allot/api/core/v1"
)

// P8: the writes about units that wait for one device, each of which has it for a while, grow with
// the units, not with their square; the same holds for events. When the changes end, each message
// is the right one.
func TestReportsAreProportionalToWhatWaits(t *testing.T) {
	for kind, gang := range map[string]bool{"pods": false, "gangs": true} {
		t.Run(kind, func(t *testing.T) {
			const units = 60
			perUnit := 8
			if gang {
				perUnit = 16 // those of the pod, and of the group
			}
			s := newServer(t)
			s.addNode("n1", 1000, 1)
			x := start(t, s)
			for i := range units {
				name := fmt.Sprintf("p-%02d", i)
				group := ""
				if gang {
					group = "g-" + name
					s.addGang(group, 1)
				}
				s.addClaim(name, 1)
				s.addPod(name, group, own(name))
			}
			for served := range units - 1 {
				x.pass(1500 * time.Millisecond)
				running := x.running()
				if running == "" {
					t.Fatalf("no pod runs after %d", served)
				}
				for _, other := range s.objects.pods.List() {
					if other.Spec.NodeName == "" && s.message(other.Name) == "" {
						t.Fatalf("pod %s has no reason", other.Name)
					}
				}
				if served == units-2 {
					break
				}
				s.editPod(running, func(pod *core.Pod) { pod.Status.Phase = corev1.PodSucceeded })
				s.claimForNewPod(running)
				s.deletePod(running)
			}
			if got := count(x.link.writes, "tell") + count(x.link.writes, "group g-"); got > units*perUnit {
				t.Errorf("%d reports about %d units", got, units)
			}
			failures := 0
			for _, event := range x.events {
				if strings.Contains(event, "FailedScheduling") || strings.Contains(event, " Unschedulable: ") {
					failures++
				}
			}
			if failures > 3*units {
				t.Errorf("%d events about %d units", failures, units)
			}
			x.pass(2 * units * 1500 * time.Millisecond)
			holder := x.running()
			for _, pod := range s.objects.pods.List() {
				if pod.Spec.NodeName == "" && !strings.Contains(s.message(pod.Name), "is held by claim ns/"+holder) {
					t.Errorf("%s has the device, and %s says %q", holder, pod.Name, s.message(pod.Name))
				}
			}
		})
	}
}

// running returns the pod that has a node and has not ended.
func (x *session) running() string {
	for _, pod := range x.server.objects.pods.List() {
		if pod.Spec.NodeName != "" && !pod.Finished() {
			return pod.Name
		}
	}
	return ""
}

// A reason of another kind is not held up by how often the holder has changed.
func TestAnotherReasonIsReportedSoon(t *testing.T) {
	s := newServer(t)
	s.addMembers("missing", 1)
	x := start(t, s)
	x.idle()
	uid := s.pod("missing-0").UID
	say := func(message string) {
		x.s.status.pods.setVerdict(key("missing-0"),
			podVerdict{uid: uid, reason: corev1.PodReasonUnschedulable, message: message, event: message})
	}
	for i := range 200 {
		say(fmt.Sprintf("1 device wanted, 1 match, 0 free (d is held by claim ns/c%d)", i))
		x.pass(2 * time.Second)
	}
	if got := count(x.link.writes, "tell"); got > 12 {
		t.Errorf("%d writes", got)
	}
	say("class c does not exist")
	x.pass(sharpDistance + settleReason)
	if got := s.message("missing-0"); got != "Unschedulable: class c does not exist" {
		t.Errorf("the condition is %q", got)
	}
	if got := len(x.events); got != 2 {
		t.Errorf("events: %q", x.events)
	}
	s.deletePod("missing-0")
	x.pass(time.Second)
	if n := len(x.s.status.pods.pace.reports); n > 0 {
		t.Errorf("%d pods are remembered", n)
	}
}
