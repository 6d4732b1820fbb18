package queue

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// Entry is a unit in the queue. Half-bound gangs come first; other units are ordered by priority,
// then by age, then by name.
type Entry struct {
	Key       model.UnitKey
	HalfBound bool
	Priority  int32
	Created   time.Time
	Slice     int // slice of the next attempt; see Placer.PlaceSlice
}

// EntryOf returns the entry of a unit for its first slice.
func EntryOf(unit *model.Unit) Entry {
	return Entry{Key: unit.Key, HalfBound: unit.HalfBound, Priority: unit.Priority, Created: unit.Created}
}

// Deferred returns the entry for the unit's next slice.
func (e Entry) Deferred() Entry {
	e.Slice++
	return e
}

func (e *Entry) before(other *Entry) bool {
	switch {
	case e.Slice != other.Slice:
		return e.Slice < other.Slice
	case e.HalfBound != other.HalfBound:
		return e.HalfBound
	case e.Priority != other.Priority:
		return e.Priority > other.Priority
	case !e.Created.Equal(other.Created):
		return e.Created.Before(other.Created)
	case e.Key.Key != other.Key.Key:
		return model.CompareKeys(e.Key.Key, other.Key.Key) < 0
	}
	return e.Key.Group && !other.Key.Group
}

// Queue keeps the units that are to be tried in order, and parks those that could not be placed
// until a topic that they wait for occurs. A unit is in it at most once. Units whose first slice
// was not sufficient come after those whose first slice is still to come, but a stream of these
// does not keep them from being tried. Use New to make one.
type Queue struct {
	ready      entries
	unfinished entries // units that need a further slice
	passed     int     // units that were tried since one of these was
	parked     map[model.UnitKey]*parked
	topics     map[model.Topic]map[model.UnitKey]bool
}

type parked struct {
	entry  Entry
	topics []model.Topic
	helps  func(model.Topic) bool
}

// New returns an empty Queue.
func New() *Queue {
	return &Queue{
		ready:      entries{indices: map[model.UnitKey]int{}},
		unfinished: entries{indices: map[model.UnitKey]int{}},
		parked:     map[model.UnitKey]*parked{},
		topics:     map[model.Topic]map[model.UnitKey]bool{},
	}
}

// Add enqueues a unit, which is then not parked any more. If it is queued already, its rank
// changes. A unit that needs a further slice still does.
func (q *Queue) Add(entry Entry) {
	q.unpark(entry.Key)
	if at, ok := q.unfinished.indices[entry.Key]; ok {
		entry.Slice = max(entry.Slice, q.unfinished.list[at].Slice)
	}
	line, other := &q.ready, &q.unfinished
	if entry.Slice > 0 {
		line, other = other, line
	}
	other.remove(entry.Key)
	line.put(entry)
}

// maxPassed is how many units are tried before one that needs a further slice.
const maxPassed = 100

// Pop removes the first unit and returns it.
func (q *Queue) Pop() (Entry, bool) {
	switch {
	case len(q.unfinished.list) > 0 && (len(q.ready.list) == 0 || q.passed >= maxPassed):
		q.passed = 0
		return heap.Pop(&q.unfinished).(Entry), true
	case len(q.ready.list) > 0:
		q.passed++
		return heap.Pop(&q.ready).(Entry), true
	}
	return Entry{}, false
}

// Park keeps the unit until one of the topics occurs.
func (q *Queue) Park(entry Entry, topics []model.Topic) {
	q.ParkUntil(entry, topics, func(model.Topic) bool { return true })
}

// ParkUntil keeps the unit until one of the topics occurs and helps reports true for it. A unit
// that waits for free resources on any node has a topic without a key; helps is called with the
// node. It must be quick, because it is called for each parked unit.
func (q *Queue) ParkUntil(entry Entry, topics []model.Topic, helps func(model.Topic) bool) {
	q.Remove(entry.Key)
	q.parked[entry.Key] = &parked{entry: entry, topics: topics, helps: helps}
	for _, topic := range topics {
		if q.topics[topic] == nil {
			q.topics[topic] = map[model.UnitKey]bool{}
		}
		q.topics[topic][entry.Key] = true
	}
}

// Wake requeues the parked units that wait for any of the topics and that it helps.
func (q *Queue) Wake(topics []model.Topic) {
	seen := map[model.Topic]bool{}
	for _, topic := range topics {
		if seen[topic] {
			continue
		}
		seen[topic] = true
		q.wake(topic, topic)
		if topic.Kind == model.TopicRoom && topic.Key.Name != "" {
			q.wake(model.Topic{Kind: model.TopicRoom}, topic)
		}
	}
}

// wake requeues the units that wait for one topic and that the topic that occurred helps.
func (q *Queue) wake(waited, topic model.Topic) {
	for key := range q.topics[waited] {
		if p := q.parked[key]; p.helps(topic) {
			q.Add(p.entry)
		}
	}
}

// Remove removes a unit, whether queued or parked.
func (q *Queue) Remove(key model.UnitKey) {
	q.unpark(key)
	q.ready.remove(key)
	q.unfinished.remove(key)
}

// Len returns how many units are queued, and how many are parked.
func (q *Queue) Len() (queued, parked int) {
	return len(q.ready.list) + len(q.unfinished.list), len(q.parked)
}

// Queued reports whether a unit is queued, and not parked.
func (q *Queue) Queued(key model.UnitKey) bool {
	_, ready := q.ready.indices[key]
	_, later := q.unfinished.indices[key]
	return ready || later
}

// Parked returns the keys of the parked units, in no particular order.
func (q *Queue) Parked() []model.UnitKey { return slices.Collect(maps.Keys(q.parked)) }

func (q *Queue) unpark(key model.UnitKey) {
	p, ok := q.parked[key]
	if !ok {
		return
	}
	delete(q.parked, key)
	for _, topic := range p.topics {
		delete(q.topics[topic], key)
		if len(q.topics[topic]) == 0 {
			delete(q.topics, topic)
		}
	}
}

// entries is a heap with an index by unit.
type entries struct {
	list    []Entry
	indices map[model.UnitKey]int
}

func (e *entries) put(entry Entry) {
	if at, ok := e.indices[entry.Key]; ok {
		e.list[at] = entry
		heap.Fix(e, at)
		return
	}
	heap.Push(e, entry)
}

func (e *entries) remove(key model.UnitKey) {
	if at, ok := e.indices[key]; ok {
		heap.Remove(e, at)
	}
}

func (e *entries) Len() int           { return len(e.list) }
func (e *entries) Less(i, j int) bool { return e.list[i].before(&e.list[j]) }

func (e *entries) Swap(i, j int) {
	e.list[i], e.list[j] = e.list[j], e.list[i]
	e.indices[e.list[i].Key], e.indices[e.list[j].Key] = i, j
}

func (e *entries) Push(x any) {
	entry := x.(Entry)
	e.indices[entry.Key] = len(e.list)
	e.list = append(e.list, entry)
}

func (e *entries) Pop() any {
	last := e.list[len(e.list)-1]
	e.list = e.list[:len(e.list)-1]
	delete(e.indices, last.Key)
	return last
}
