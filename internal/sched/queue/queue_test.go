package queue_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/queue"
)

func unitKey(name string) model.UnitKey {
	return model.UnitKey{Key: model.Key{Namespace: "default", Name: name}}
}

func entry(name string, priority int32, created int64) queue.Entry {
	return queue.Entry{Key: unitKey(name), Priority: priority, Created: time.Unix(created, 0)}
}

func drain(q *queue.Queue) []string {
	var names []string
	for {
		e, ok := q.Pop()
		if !ok {
			return names
		}
		names = append(names, e.Key.Key.Name)
	}
}

func wantOrder(t *testing.T, q *queue.Queue, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, drain(q)); diff != "" {
		t.Error(diff)
	}
}

func TestQueueOrder(t *testing.T) {
	q := queue.New()
	half := entry("half-bound", -5, 9)
	half.HalfBound = true
	for _, e := range []queue.Entry{entry("b", 0, 2), entry("young", 0, 3), half, entry("a", 0, 2),
		entry("important", 7, 4), entry("changes", 0, 1)} {
		q.Add(e)
	}
	q.Add(entry("changes", 9, 1))
	wantOrder(t, q, "half-bound", "changes", "important", "a", "b", "young")
}

func TestQueueParks(t *testing.T) {
	q := queue.New()
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

	// A unit that is parked again waits for the new topics only; a removed unit waits for none.
	q.Park(entry("a", 0, 1), []model.Topic{room})
	q.Park(entry("a", 0, 1), []model.Topic{devices})
	q.Park(entry("b", 0, 1), []model.Topic{devices})
	q.Remove(unitKey("b"))
	q.Wake([]model.Topic{room})
	wantOrder(t, q)
	q.Wake([]model.Topic{devices})
	wantOrder(t, q, "a")

	// A unit is queued or parked, never both.
	q.Park(entry("a", 0, 1), []model.Topic{room})
	q.Add(entry("a", 0, 1))
	q.Wake([]model.Topic{room})
	if ready, parked := q.Len(); ready != 1 || parked != 0 {
		t.Errorf("%d in line, %d parked", ready, parked)
	}
}

// Units that need another slice come after those that have not had their first, whatever their
// priority, and are reached although more of these arrive continuously (P6).
func TestQueueDefers(t *testing.T) {
	q := queue.New()
	hard := entry("hard", 9, 1).Deferred()
	q.Add(hard)
	q.Add(entry("harder", 10, 1).Deferred().Deferred())
	q.Add(entry("easy", 0, 2))
	q.Add(entry("hard", 9, 1)) // a topic wakes it, and it still needs several slices
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
