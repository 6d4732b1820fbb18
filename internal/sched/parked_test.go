package sched_test

import (
	"testing"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// A thousand groups that cannot be placed are tried again only for a reason (F66). The end of a pod
// on a node on which none of their pods would fit is not a reason; a large node is a reason for
// all.
func TestF66ParkedGroupsAreNotTried(t *testing.T) {
	state := bigState(3, 0)
	placer, q := sched.NewPlacer(state, sched.DefaultSteps), queue.New()
	parkGangs(t, state, placer, q, 1000)
	wantQueue := func(why string, want int) {
		t.Helper()
		if ready, parked := q.Len(); ready != want || ready+parked != 1000 {
			t.Errorf("%s: %d in line, %d parked; want %d in line", why, ready, parked, want)
		}
	}
	wantQueue("at first", 0)

	pod := bigPod(t, "ends", "")
	pod.Node = "node-0001"
	q.Wake(state.Pods.Put(pod))
	q.Wake(state.Pods.Delete(pod.Key))
	wantQueue("a small pod has ended", 0)

	q.Wake([]model.Topic{{Kind: model.TopicDevices}, {Kind: model.TopicPods}, {Kind: model.TopicMembers, Key: pod.Key}})
	wantQueue("what they do not depend on", 0)

	q.Wake(
		state.Nodes.Put(
			&model.Node{Name: "large", Allocatable: model.Resources{"cpu": 64_000, "memory": 1 << 40, "pods": 110}},
		),
	)
	wantQueue("a large node has come", 1000)
}
