package scheduler

import (
	"slices"
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	attached = "example.com/attached"
	broken   = "example.com/failed"
)

// addFabric makes devices that can be used from every node, once they are attached.
func (s *server) addFabric(devices int) {
	s.addFabricOf("net", devices)
	slice, _ := s.objects.slices.Get("", "net")
	slice = slice.DeepCopy()
	for i := range slice.Spec.Devices {
		slice.Spec.Devices[i].BindingConditions, slice.Spec.Devices[i].BindingFailureConditions = []string{
			attached,
		}, []string{
			broken,
		}
	}
	put(s, sliced, slice)
}

// report has the driver say something of all devices of a claim.
func (s *server) report(name, condition string, status metav1.ConditionStatus) {
	claim := s.claim(name).DeepCopy()
	for i := range claim.Status.Allocation.Devices.Results {
		r := &claim.Status.Allocation.Devices.Results[i]
		at := slices.IndexFunc(claim.Status.Devices,
			func(d resourcev1.AllocatedDeviceStatus) bool { return d.Device == r.Device })
		if at < 0 {
			at = len(claim.Status.Devices)
			claim.Status.Devices = append(claim.Status.Devices,
				resourcev1.AllocatedDeviceStatus{Driver: r.Driver, Pool: r.Pool, Device: r.Device})
		}
		meta.SetStatusCondition(&claim.Status.Devices[at].Conditions,
			metav1.Condition{Type: condition, Status: status, Reason: "Fabric"})
	}
	put(s, claimed, claim)
}

// device is the one that a claim has, "" if it has none.
func (s *server) device(name string) string {
	if a := s.claim(name).Status.Allocation; a != nil {
		return a.Devices.Results[0].Device
	}
	return ""
}

// f70 is a gang of two that share a fabric device, and a scheduler that waits ten seconds for it.
func f70(t *testing.T, devices int) (*server, *session) {
	t.Helper()
	s := newServer(t)
	s.addNode("n1", 4, 0)
	s.addNode("n2", 4, 0)
	s.addFabric(devices)
	s.addClaimOf("net", "fab", 1)
	s.addGang("g", 2, "fab")
	s.addMembers("g", 2, ofGroup("fab"))
	x := start(t, s)
	x.s.pending.timeout = 10 * time.Second
	return s, x
}

// F70 (a): both members are bound once the device is attached, and are told until then, once, for
// what they wait.
func TestF70AttachedInTime(t *testing.T) {
	s, x := f70(t, 1)
	x.pass(5 * time.Second)
	const want = "Unschedulable: waiting for example.com/attached of device net.example.com/fabric/channel-0 of claim ns/fab"
	for _, pod := range []string{"g-0", "g-1"} {
		if got := s.message(pod); got != want {
			t.Errorf("%s is told %q", pod, got)
		}
	}
	if count(x.link.writes, "bind") > 0 || count(x.link.writes, "tell") != 2 || count(x.link.writes, "group g") != 1 {
		t.Errorf("writes = %q", x.link.writes)
	}
	s.report("fab", "example.com/other", metav1.ConditionTrue)
	x.pass(time.Second)
	if count(x.link.writes, "bind") > 0 {
		t.Errorf("writes = %q", x.link.writes)
	}
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	s.whole(t, "g", 2)
	if got := s.bound("g"); len(got) != 2 || count(x.link.writes, "status fab") != 1 {
		t.Errorf("bound %v, writes %q", got, x.link.writes)
	}
	if len(x.s.pending.plans)+len(x.s.held)+len(x.s.failures) > 0 {
		t.Errorf("waits %v, held %v, failures %v", x.s.pending.plans, x.s.held, x.s.failures)
	}
	x.pass(time.Minute)
	if got := s.bound("g"); len(got) != 2 || s.device("fab") == "" {
		t.Errorf("bound %v in the end", got)
	}
}

// F70 (b) and (c): a device that fails, or does not come in time, is given back, and another one is
// tried; no member is bound before that is attached.
func TestF70Fails(t *testing.T) {
	for name, fail := range map[string]func(*server, *session){
		"condition": func(s *server, x *session) { s.report("fab", broken, metav1.ConditionTrue); x.pass(time.Second) },
		"timeout":   func(_ *server, x *session) { x.pass(9500 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			s, x := f70(t, 2)
			x.pass(time.Second)
			first := s.device("fab")
			fail(s, x)
			if second := s.device("fab"); second == first || second == "" {
				t.Errorf("after %s it has %q", first, second)
			}
			if got := s.bound("g"); len(got) > 0 {
				t.Errorf("bound %v", got)
			}
			if !slices.ContainsFunc(x.events, func(e string) bool {
				return strings.Contains(e, "FailedScheduling: device net.example.com/fabric/"+first)
			}) {
				t.Errorf("events = %q", x.events)
			}
			s.report("fab", attached, metav1.ConditionTrue)
			x.pass(time.Second)
			s.whole(t, "g", 2)
			if got := s.bound("g"); len(got) != 2 {
				t.Errorf("bound %v", got)
			}
		})
	}
}

// The only device that there is tried again after a while, not at once, and nothing is held
// meanwhile.
func TestF70OnlyDeviceFails(t *testing.T) {
	s, x := f70(t, 1)
	x.pass(time.Second)
	s.report("fab", broken, metav1.ConditionTrue)
	x.pass(avoidFor - 2*time.Second)
	told := s.message("g-0")
	if s.device("fab") != "" || len(s.claim("fab").Status.ReservedFor) > 0 ||
		!strings.HasSuffix(told, " (excluded for 30s since binding conditions failed: net.example.com/fabric/channel-0)") {
		t.Errorf("status = %+v, told %q", s.claim("fab").Status, told)
	}
	x.pass(3 * time.Second)
	if got := s.device("fab"); got != "channel-0" || len(x.s.quarantine.until) > 0 {
		t.Errorf("has %q, avoided %v", got, x.s.quarantine.until)
	}
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	if got := s.bound("g"); len(got) != 2 {
		t.Errorf("bound %v", got)
	}
}

// F70 (d): a member goes while the gang waits. The devices are free, and the gang is placed when
// another member comes.
func TestF70MemberDeleted(t *testing.T) {
	s, x := f70(t, 1)
	x.pass(time.Second)
	s.deletePod("g-1")
	x.pass(3 * time.Second)
	if got := s.allocated(); len(got) > 0 {
		t.Errorf("allocated %v", got)
	}
	if got := s.message("g-0"); got != "Unschedulable: 1 of 2 pods exist" {
		t.Errorf("told %q", got)
	}
	s.addPod("g-2", "g", ofGroup("fab"))
	x.pass(time.Second)
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	s.whole(t, "g", 2)
	if got := s.bound("g"); len(got) != 2 {
		t.Errorf("bound %v", got)
	}
}

// All members go, and the PodGroup stays: nothing is held for it.
func TestF70AllMembersDeleted(t *testing.T) {
	s, x := f70(t, 1)
	x.pass(time.Second)
	s.deletePod("g-0")
	s.deletePod("g-1")
	x.pass(3 * time.Second)
	if got := s.allocated(); len(got) > 0 || len(x.s.pending.plans) > 0 {
		t.Errorf("allocated %v, waits %v", got, x.s.pending.plans)
	}
}

// A scheduler that starts while devices are being attached waits for them, from when they were
// allocated on.
func TestF70Restart(t *testing.T) {
	for _, status := range []metav1.ConditionStatus{metav1.ConditionTrue, metav1.ConditionUnknown} {
		t.Run(string(status), func(t *testing.T) {
			s, x := f70(t, 2)
			x.pass(4 * time.Second)
			first := s.device("fab")
			x.link.left = 0
			y := start(t, s)
			y.s.pending.timeout = 10 * time.Second
			y.clock.Step(4 * time.Second)
			y.pass(5 * time.Second)
			if s.device("fab") != first || count(y.link.writes, "status")+count(y.link.writes, "bind") > 0 {
				t.Fatalf("writes = %q", y.link.writes)
			}
			s.report("fab", attached, status)
			y.pass(2 * time.Second)
			if status == metav1.ConditionTrue {
				if got := s.bound("g"); len(got) != 2 {
					t.Errorf("bound %v", got)
				}
				return
			}
			if got := s.device("fab"); got == first || got == "" || count(y.link.writes, "bind") > 0 {
				t.Errorf("has %q, writes %q", got, y.link.writes)
			}
		})
	}
}

// A claim whose device failed stays as long as somebody else uses it: who comes anew waits, and
// says why.
func TestFailedDeviceInUse(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 0)
	s.addFabric(2)
	s.addClaimOf("net", "fab", 1)
	s.addPod("a", "", own("fab"))
	x := start(t, s)
	x.pass(time.Second)
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	first := s.device("fab")
	s.report("fab", broken, metav1.ConditionTrue)
	s.addPod("b", "", own("fab"))
	x.pass(20 * time.Second)
	if got := s.bound(""); !slices.Equal(got, []string{"a"}) || s.device("fab") != first {
		t.Errorf("bound %v, has %q", got, s.device("fab"))
	}
	if got := s.message("b"); got != "Unschedulable: device net.example.com/fabric/channel-0 of claim ns/fab: example.com/failed is True (Fabric)" {
		t.Errorf("told %q", got)
	}
	s.deletePod("a")
	s.claimForNewPod("fab")
	x.pass(2 * time.Second)
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	if got := s.bound(""); !slices.Equal(got, []string{"b"}) {
		t.Errorf("bound %v, told %q", got, s.message("b"))
	}
}

// Two pods alone share a claim that is being attached: both give up together, and both get the next
// device.
func TestTwoPodsWaitForOneDevice(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 0)
	s.addFabric(2)
	s.addClaimOf("net", "fab", 1)
	x := start(t, s)
	s.addPod("a", "", own("fab"))
	s.addPod("b", "", own("fab"))
	x.pass(2 * time.Second)
	if got := len(s.claim("fab").Status.ReservedFor); got != 2 || count(x.link.writes, "bind") > 0 {
		t.Errorf("%d consumers, writes %q", got, x.link.writes)
	}
	first := s.device("fab")
	s.report("fab", broken, metav1.ConditionTrue)
	x.pass(2 * time.Second)
	if got := s.device("fab"); got == first || got == "" {
		t.Errorf("has %q", got)
	}
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	if got := s.bound(""); len(got) != 2 || len(s.claim("fab").Status.ReservedFor) != 2 {
		t.Errorf("bound %v, reserved for %v", got, s.claim("fab").Status.ReservedFor)
	}
}

// The node goes while a pod waits for its device there: it is placed on another, and waits anew.
func TestNodeGoesWhileAPodWaits(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 4, 0)
	s.addFabric(1)
	s.addClaimOf("net", "fab", 1)
	s.addPod("p", "", own("fab"))
	x := start(t, s)
	x.pass(time.Second)
	s.addNode("n2", 4, 0)
	s.record(func(k *kinds) { k.nodes.Delete("", "n1") })
	x.pass(time.Second)
	s.report("fab", attached, metav1.ConditionTrue)
	x.pass(time.Second)
	if got := s.pod("p").Spec.NodeName; got != "n2" {
		t.Errorf("p is on %q", got)
	}
}

// Who needs no device that has to be attached is not held up by those who do.
func TestOnlyWhoHasToWaitWaits(t *testing.T) {
	s, x := f70(t, 1)
	s.addNode("n3", 4, 1)
	s.addPod("p", "")
	x.pass(time.Second)
	if len(s.bound("g")) > 0 || len(s.bound("")) != 1 {
		t.Errorf("bound %v and %v", s.bound("g"), s.bound(""))
	}
}
