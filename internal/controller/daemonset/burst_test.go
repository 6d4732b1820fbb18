package daemonset

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apps "github.com/allot-dev/allot/api/apps/v1"
	core "github.com/allot-dev/allot/api/core/v1"
)

// The back-off of a failed pod begins when the pod is deleted, not when a pass has seen it but
// cannot delete it yet.
func TestPodsLeftForALaterPassAreNotInBackOff(t *testing.T) {
	w := newWorld()
	set := &apps.DaemonSet{}
	set.Name, set.UID = "agent", "s"
	var plan Plan
	for i := range burst + 2 {
		pod := &core.Pod{}
		pod.Name, pod.Spec.NodeName, pod.Status.Phase = fmt.Sprint("p", i), fmt.Sprint("n", i), corev1.PodFailed
		plan.Ended, plan.Delete = append(plan.Ended, pod), append(plan.Delete, pod)
	}
	if err := w.c.act(t.Context(), set, plan, "hash"); err != nil {
		t.Fatal(err)
	}
	if n := len(w.c.backoff.remaining(set, w.Now.Now())); n != burst {
		t.Errorf("%d nodes are in back-off, want %d", n, burst)
	}
}
