package sched_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
)

func entry(name string, priority int32, created int64) sched.Entry {
	return sched.Entry{Key: unitKey(false, name), Priority: priority, Created: time.Unix(created, 0)}
}

func drain(q *sched.Queue) []string {
	var names []string
	for {
		e, ok := q.Pop()
		if !ok {
			return names
		}
		names = append(names, e.Key.Key.Name)
	}
}

func wantOrder(t *testing.T, q *sched.Queue, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, drain(q)); diff != "" {
		t.Error(diff)
	}
}

func TestQueueOrder(t *testing.T) {
	q := sched.NewQueue()
	half := entry("half-bound", -5, 9)
	half.HalfBound = true
	for _, e := range []sched.Entry{entry("b", 0, 2), entry("young", 0, 3), half, entry("a", 0, 2), entry("important", 7, 4), entry("changes", 0, 1)} {
		q.Add(e)
	}
	q.Add(entry("changes", 9, 1))
	wantOrder(t, q, "half-bound", "changes", "important", "a", "b", "young")
}

func TestQueueParks(t *testing.T) {
	q := sched.NewQueue()
	room, devices := model.Topic{Kind: model.TopicRoom}, model.Topic{Kind: model.TopicDevices}
	claim := model.Topic{Kind: model.TopicClaim, Key: model.Key{Namespace: "ns", Name: "c"}}
	q.Park(entry("a", 0, 1), []model.Topic{room, claim})
	q.Park(entry("b", 0, 2), []model.Topic{devices})
	q.Park(entry("c", 0, 3), []model.Topic{room})
	wantOrder(t, q)

	q.Wake([]model.Topic{claim})
	wantOrder(t, q, "a")

	q.Wake([]model.Topic{claim, room, devices})
	wantOrder(t, q, "b", "c")

	// What waits for something new no longer waits for the old; what is removed waits for nothing.
	q.Park(entry("a", 0, 1), []model.Topic{room})
	q.Park(entry("a", 0, 1), []model.Topic{devices})
	q.Park(entry("b", 0, 1), []model.Topic{devices})
	q.Remove(unitKey(false, "b"))
	q.Wake([]model.Topic{room})
	wantOrder(t, q)
	q.Wake([]model.Topic{devices})
	wantOrder(t, q, "a")

	// A unit is in line or parked, never both.
	q.Park(entry("a", 0, 1), []model.Topic{room})
	q.Add(entry("a", 0, 1))
	q.Wake([]model.Topic{room})
	if ready, parked := q.Len(); ready != 1 || parked != 0 {
		t.Errorf("%d in line, %d parked", ready, parked)
	}
}

// Field case F66: a thousand groups that cannot be placed are tried again for a reason only. A pod that ends on a node
// where none of their pods would fit is none; a node that is large enough is one for all.
func TestF66ParkedGroupsCostNothing(t *testing.T) {
	state := bigState(3, 0)
	placer, queue := sched.NewPlacer(state, sched.DefaultSteps), sched.NewQueue()
	parkGangs(t, state, placer, queue, 1000)
	wantQueue := func(why string, want int) {
		t.Helper()
		if ready, parked := queue.Len(); ready != want || ready+parked != 1000 {
			t.Errorf("%s: %d in line, %d parked; want %d in line", why, ready, parked, want)
		}
	}
	wantQueue("at first", 0)

	pod := bigPod(t, "ends", "")
	pod.Node = "node-0001"
	queue.Wake(state.Pods.Put(pod))
	queue.Wake(state.Pods.Delete(pod.Key))
	wantQueue("a small pod has ended", 0)

	queue.Wake([]model.Topic{{Kind: model.TopicDevices}, {Kind: model.TopicPods}, {Kind: model.TopicMembers, Key: pod.Key}})
	wantQueue("what they do not depend on", 0)

	queue.Wake(state.Nodes.Put(&model.Node{Name: "large", Allocatable: model.Resources{"cpu": 64_000, "memory": 1 << 40, "pods": 110}}))
	wantQueue("a large node has come", 1000)
}

// P6: units that need a further slice come after those that have not had their first, whatever their priority, and are
// reached in spite of a stream of these.
func TestQueueDefers(t *testing.T) {
	q := sched.NewQueue()
	hard := entry("hard", 9, 1).Deferred()
	q.Add(hard)
	q.Add(entry("harder", 10, 1).Deferred().Deferred())
	q.Add(entry("easy", 0, 2))
	q.Add(entry("hard", 9, 1)) // something has come up; it is as hard as it was
	wantOrder(t, q, "easy", "hard", "harder")

	q.Add(hard)
	for i := range 1000 {
		q.Add(entry("easy", 0, 2))
		if e, _ := q.Pop(); e.Key == hard.Key {
			if i < 50 {
				t.Errorf("it came after %d", i)
			}
			return
		}
	}
	t.Error("it never came")
}
