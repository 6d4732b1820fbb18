package scheduler

import (
	"fmt"
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/allot-dev/allot/internal/model"
)

// P32: whatever is wrong with one unit, others are placed.
func TestPanicConcernsOneUnit(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 10, 4)
	s.addClaim("odd", 1)
	x := start(t, s)
	x.idle()
	claim, _ := x.s.state.Claims.Get(model.Key{Namespace: ns, Name: "odd"})
	odd := *claim
	odd.Requests = []model.Request{{Name: "r"}} // as none that was converted is: without any option
	x.s.state.Claims.Put(&odd)
	s.addPod("p", "", own("odd"))
	s.addClaim("c", 1)
	s.addPod("easy", "", own("c"))
	x.idle()
	if got := s.bound(""); len(got) != 1 || got[0] != "easy" {
		t.Errorf("bound %v, want the pod that is easy to place", got)
	}
	x.pass(10 * time.Second)
	if got := s.message("p"); !strings.HasPrefix(got, "SchedulerError: internal error while placing: ") {
		t.Errorf("told %q", got)
	}
	if got := x.s.failures[model.UnitKey{Key: model.Key{Namespace: ns, Name: "p"}}]; got < 3 || got > 10 {
		t.Errorf("%d attempts in 10 s", got)
	}
	if err := x.s.state.Audit(); err != nil {
		t.Error(err)
	}
}

// bomb is a selector that costs nearly what one evaluation may, for each number another one.
func bomb(number int) resourcev1.DeviceSelector {
	numbers := make([]string, 45)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	list := "[" + strings.Join(numbers, ",") + "]"
	expression := fmt.Sprintf(
		`device.attributes["gpu.example.com"].?index.orValue(%d) != -5 && %s.all(a, %s.all(b, %s.all(c, a+b+c >= 0)))`,
		number, list, list, list,
	)
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

// addBomb makes a claim with so many costly selectors, and a pod for it.
func (s *server) addBomb(name string, selectors int) {
	s.addClaim(name, 1)
	claim := s.claim(name).DeepCopy()
	for i := range selectors {
		claim.Spec.Devices.Requests[0].Exactly.Selectors = append(claim.Spec.Devices.Requests[0].Exactly.Selectors, bomb(i))
	}
	put(s, claimed, claim)
	s.addPod(name, "", own(name))
}

// indexDevices gives each device an attribute by which selectors can tell it from others.
func (s *server) indexDevices() {
	for _, slice := range s.objects.slices.List() {
		slice = slice.DeepCopy()
		for i := range slice.Spec.Devices {
			slice.Spec.Devices[i].Attributes = map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"index": {IntValue: ptr.To(int64(i))},
			}
		}
		put(s, sliced, slice)
	}
}

// P5: selectors that cost much are evaluated in parts, between which others are placed; and there
// is an end to it.
func TestCostlySelectorsLeaveTimeToOthers(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 30)
	s.indexDevices()
	for i := range 3 {
		s.addBomb(fmt.Sprint("bomb-", i), 32)
	}
	s.addClaim("c", 1)
	s.addPod("easy", "", own("c"))
	x := start(t, s)
	begun := time.Now()
	x.idle()
	if got := s.bound(""); len(got) != 1 || got[0] != "easy" {
		t.Errorf("bound %v, want the pod that is easy to place", got)
	}
	t.Log("the first round took", time.Since(begun))
	before := x.attempts
	x.pass(10 * time.Second)
	if got := x.attempts - before; got < 8 || got > 12 {
		t.Errorf("%d attempts in 10 s, want one a second", got)
	}
	told := s.message("bomb-0")
	for _, want := range []string{" costs too much for one attempt: ", " cost units over ", "limit 40000000",
		"device.attributes"} {
		if !strings.Contains(told, want) {
			t.Errorf("told %q, want %q in it", told, want)
		}
	}
	s.deletePod("bomb-1")
	s.deletePod("bomb-2")
	x.pass(30 * time.Second)
	if told := s.message("bomb-0"); !strings.Contains(told, "more than the limit of 40000000 cost units") {
		t.Errorf("told %q in the end", told)
	}
	if ready, parked := x.s.queue.Len(); ready != 0 || parked != 1 || len(x.s.held) != 0 {
		t.Errorf("%d ready, %d parked, held %v", ready, parked, x.s.held)
	}
}

// An expression whose cost is within the limit of a unit is evaluated to its end, in as many
// attempts as that takes.
func TestCostlySelectorIsEvaluatedToItsEnd(t *testing.T) {
	s := newServer(t)
	s.addNode("n1", 100, 12)
	s.indexDevices()
	s.addBomb("bomb", 1)
	x := start(t, s)
	x.idle()
	if got := s.bound(""); len(got) != 0 {
		t.Fatalf("bound %v", got)
	}
	x.pass(20 * time.Second)
	if got := s.bound(""); len(got) != 1 {
		t.Errorf("bound %v, want the pod: %s", got, s.message("bomb"))
	}
}
