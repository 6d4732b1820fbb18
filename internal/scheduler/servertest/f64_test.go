package servertest

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// F64: two schedulers, and one device for two claims, as often as fits in some seconds. Never have
// both claims the device, and one of the pods gets it each time.
func TestF64TwoSchedulers(t *testing.T) {
	ns := namespace(t)
	addNode(t, "f64", "", 0)
	addClass(t, "f64.example.com")
	addSlice(t, "fabric", "f64.example.com", 1, func(s *resourcev1.ResourceSliceSpec) { s.AllNodes = ptr.To(true) })
	w := watchClaims(t, ns)
	wins := map[string]int{}
	rounds := 0
	for start := time.Now(); rounds < 500; rounds++ {
		took := time.Since(start)
		if enough := rounds >= 20 && len(wins) == 2; took > 5*patience || enough && took > 10*time.Second {
			break
		}
		wins[race(t, ns, rounds)]++
	}
	w.testify(t)
	if allocs, _ := w.seen(); allocs < rounds {
		t.Errorf("%d allocations in %d rounds", allocs, rounds)
	}
	t.Logf("%d rounds, won by %v", rounds, wins)
	if rounds < 20 || len(wins) != 2 {
		t.Error("no race")
	}
}

// race has two pods compete, and gives the scheduler whose pod was bound.
func race(t *testing.T, ns string, round int) string {
	t.Helper()
	names := map[string]string{}
	for _, scheduler := range []string{corev1.DefaultSchedulerName, second} {
		name := fmt.Sprintf("p%d-%s", round, scheduler)
		claim := &resource.ResourceClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
			Spec:       claimSpec("f64.example.com"),
		}
		if _, err := set.ResourceClaims(ns).Create(t.Context(), claim, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		names[scheduler] = name
	}
	created := make(chan error, 2)
	for scheduler, name := range names { // in any order
		go func() {
			_, err := set.Pods(ns).Create(t.Context(), pod(ns, name, scheduler, named(name)), metav1.CreateOptions{})
			created <- err
		}()
	}
	for range names {
		if err := <-created; err != nil {
			t.Fatal(err)
		}
	}
	winner := ""
	eventually(t, fmt.Sprintf("one pod of round %d is bound", round), func() bool {
		for scheduler, name := range names {
			p, err := set.Pods(ns).Get(t.Context(), name, metav1.GetOptions{})
			if err == nil && p.Spec.NodeName != "" {
				winner = scheduler
			}
		}
		return winner != ""
	})
	for _, name := range names {
		now := metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0))}
		if err := set.Pods(ns).Delete(t.Context(), name, now); err != nil {
			t.Fatal(err)
		}
		if err := set.ResourceClaims(ns).Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return winner
}
