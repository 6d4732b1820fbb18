package scheduler

import (
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched"
	"github.com/allot-dev/allot/internal/sched/preempt"
	"github.com/allot-dev/allot/internal/sched/queue"
)

// unitQueue decides when a unit is tried: it has the queue, and what is remembered of units between
// two attempts.
type unitQueue struct {
	*loop
	queue     *queue.Queue
	held      map[model.UnitKey]bool      // units that are not tried until they are released
	failures  map[model.UnitKey]int       // consecutive refused plans
	halfBound map[model.UnitKey]time.Time // time since which a half-bound gang cannot be completed
	undecided map[model.UnitKey]*backoff  // units whose search used the whole budget
	histories map[model.UnitKey]*history  // attempts so far
	alarms    map[model.UnitKey]time.Time // time at which units that wait for victims are tried again
	// nextCostly is the time at which the last of the units whose claims have costly expressions is
	// tried again.
	nextCostly time.Time
}

func newUnitQueue(l *loop) *unitQueue {
	return &unitQueue{
		loop: l, queue: queue.New(), held: map[model.UnitKey]bool{}, failures: map[model.UnitKey]int{},
		halfBound: map[model.UnitKey]time.Time{}, undecided: map[model.UnitKey]*backoff{},
		histories: map[model.UnitKey]*history{}, alarms: map[model.UnitKey]time.Time{},
	}
}

// A unit whose plan was refused is tried again after a pause that doubles, so that a cache can
// catch up.
const (
	firstRetry = 50 * time.Millisecond
	lastRetry  = 10 * time.Second
)

// unitOf returns the unit whose pods or group a topic concerns.
func (q *unitQueue) unitOf(topic model.Topic) (model.UnitKey, bool) {
	switch topic.Kind {
	case model.TopicMembers, model.TopicGroup:
		return model.UnitKey{Group: true, Key: topic.Key}, true
	case model.TopicTree:
		return model.UnitKey{Tree: true, Key: topic.Key}, true
	case model.TopicPod:
		if pod, ok := q.state.Pods.Get(topic.Key); ok {
			return pod.UnitKey(), true
		}
		return model.UnitKey{Key: topic.Key}, true // deleted; a group has its own topic
	}
	return model.UnitKey{}, false
}

// enqueue puts the units of a key into the queue if they have something to place, and forgets them
// otherwise.
func (q *unitQueue) enqueue(key model.UnitKey) {
	for _, unit := range q.state.UnitsOf(key) {
		q.enqueueUnit(unit)
	}
}

// isHeld reports whether a unit is held, or a tree that it is a part of.
func (q *unitQueue) isHeld(key model.UnitKey) bool {
	return q.held[key] || slices.ContainsFunc(q.state.TreesAbove(key), func(above model.Key) bool {
		return q.held[model.UnitKey{Tree: true, Key: above}]
	})
}

func (q *unitQueue) enqueueUnit(key model.UnitKey) {
	if q.isHeld(key) || q.parkIncomplete(key) {
		return
	}
	if unit, ok := q.state.Unit(key); ok {
		q.queue.Add(queue.EntryOf(unit))
		return
	}
	delete(q.halfBound, key)
	delete(q.histories, key)
	q.spans.end(key, q.clock.Now())
	q.dropNomination(key)
	if q.usage.IdleGroupHolds(key) {
		q.queue.Add(queue.Entry{Key: key})
		return
	}
	q.queue.Remove(key)
	if !q.exists(key) {
		delete(q.failures, key)
		delete(q.undecided, key)
	}
}

// exists reports whether the unit has any pods, waiting or not.
func (q *unitQueue) exists(key model.UnitKey) bool {
	switch {
	case key.Group:
		return q.state.Groups.Census(key.Key) != model.Census{}
	case key.Tree:
		return len(q.state.Members(key)) > 0
	}
	_, ok := q.state.Pods.Get(key.Key)
	return ok
}

// hold removes a unit from the queue until it is released.
func (q *unitQueue) hold(key model.UnitKey) {
	q.held[key] = true
	q.queue.Remove(key)
}

// release puts a unit that was held into the queue again.
func (q *unitQueue) release(key model.UnitKey) {
	delete(q.held, key)
	q.enqueue(key)
}

// park parks a unit that was refused until a change that may help it.
func (q *unitQueue) park(entry queue.Entry, reasons *sched.Reasons) {
	q.queue.ParkUntil(entry, reasons.Topics(), func(topic model.Topic) bool { return reasons.Helps(q.state, topic) })
}

// retryLater holds a unit until the pause is over. before, if not nil, is called before the unit is
// released.
func (q *unitQueue) retryLater(key model.UnitKey, before message) {
	delay := min(firstRetry<<min(q.failures[key], 10), lastRetry)
	q.failures[key]++
	q.hold(key)
	q.runAfter(delay, func() []model.Topic {
		var topics []model.Topic
		if before != nil {
			topics = before()
		}
		q.release(key)
		return topics
	})
}

// dropNomination removes the nomination of a unit, if it has one.
func (q *unitQueue) dropNomination(key model.UnitKey) {
	delete(q.alarms, key)
	q.queue.Wake(q.state.Nominations.Delete(key))
}

// retryAt has a unit tried again when it no longer waits for pods that should have terminated by
// then.
func (q *unitQueue) retryAt(key model.UnitKey, until time.Time) {
	if until.IsZero() || q.alarms[key].Equal(until) {
		return
	}
	q.alarms[key] = until
	q.runAfter(until.Add(preempt.Patience).Sub(q.clock.Now()), func() []model.Topic {
		if q.alarms[key].Equal(until) {
			delete(q.alarms, key)
			q.enqueue(key)
		}
		return nil
	})
}
