package scheduler

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"

	core "github.com/allot-dev/allot/api/core/v1"
)

// addHardGang makes a gang that has no place, which counting does not show: the pods fill all nodes
// but for a rest, and each has an even number of cpu where each node has an odd one.
func (s *server) addHardGang(name string, sizes ...int64) {
	s.addGang(name, int32(len(sizes)))
	for i, size := range sizes {
		s.addPod(fmt.Sprint(name, "-", i), name, func(pod *core.Pod) {
			pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = *apiresource.NewQuantity(size, apiresource.DecimalSI)
		})
	}
}

// hardGangs is a server with nodes and a number of such gangs.
func hardGangs(t *testing.T, gangs int) *server {
	s := newServer(t)
	for i := range 6 {
		s.addRoom(fmt.Sprint("n", i), 101)
	}
	for g := range gangs {
		s.addHardGang(fmt.Sprint("hard-", g), 58, 56, 54, 52, 50, 48, 46, 44, 42, 40, 38, 36, 22, 18)
	}
	return s
}

// P6: while gangs wait that are hard to decide, a pod that is easy to place is bound after one
// slice.
func TestP6EasyPodsDoNotWaitForHardGangs(t *testing.T) {
	s := hardGangs(t, 5)
	x := start(t, s)
	for range 2 { // the first slices
		x.see(1000)
		x.step()
	}
	s.addPod("easy", "")
	before := x.attempts
	for ; len(s.bound("")) == 0 && x.attempts < before+100; x.job() {
		x.see(1000)
		x.step()
	}
	// Those gangs that have not had their first slice are older than the pod.
	if n := x.attempts - before; n > 4 {
		t.Errorf("the pod was bound after %d attempts", n)
	}
	for x.meter.tried["gang undecided"] == 0 { // the whole budget of one gang
		x.see(1000)
		x.step()
	}
	s.addPod("late", "")
	for before = x.attempts; len(s.bound("")) < 2 && x.attempts < before+100; x.job() {
		x.see(1000)
		x.step()
	}
	if n := x.attempts - before; n > 1 {
		t.Errorf("the late pod was bound after %d attempts", n)
	}
}

// P6: an undecided gang is reported once its whole budget is spent. It is tried again when
// something comes up that can help, after pauses that grow.
func TestP6UndecidedGangsAreTriedLessAndLess(t *testing.T) {
	s := hardGangs(t, 1)
	x := start(t, s)
	x.pass(time.Minute)
	if s.message("hard-0-0") == "" || x.attempts != 3 {
		t.Errorf("%d attempts without a change, and the pods are told %q", x.attempts, s.message("hard-0-0"))
	}
	first := x.attempts
	const minutes = 4
	for i := range minutes * 60 {
		s.addRoom("n0", 101+2*int64(i%2)) // of no use
		x.pass(time.Second)
	}
	if n := (x.attempts - first) / 3; n < 3 || n > 9 {
		t.Errorf("it was tried %d times in %d minutes", n, minutes)
	}
	s.addRoom("n6", 101)
	x.pass(2 * lastUndecided)
	if bound := s.bound("hard-0"); len(bound) != 14 {
		t.Errorf("%d pods are bound, and they are told %q", len(bound), s.message("hard-0-0"))
	}
	if len(x.s.undecided) > 0 {
		t.Errorf("%v is remembered", x.s.undecided)
	}
}
