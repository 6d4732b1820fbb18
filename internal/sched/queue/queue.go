package queue

import (
	"container/heap"
	"maps"
	"slices"
	"time"

	"github.com/allot-dev/allot/internal/model"
)

// Entry is a unit's place in the queue: half-bound gangs first, then by priority, then by age, then by name.
type Entry struct {
	Key       model.UnitKey
	HalfBound bool
	Priority  int32
	Created   time.Time
	Slice     int // of the next attempt; see Placer.PlaceSlice
}

// EntryOf is the unit's place.
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

// Queue keeps the units that are to be tried in order, and parks those that were tried in vain until a topic that
// they wait for comes up. A unit is in it at most once. Units whose first slice was not enough come after those that have
// not had theirs, but a stream of these does not keep them from being tried. The zero value is not ready; use New.
type Queue struct {
	ready  entries
	later  entries // those that need a further slice
	passed int     // how many came before the first of these since one of them was tried
	parked map[model.UnitKey]*parked
	topics map[model.Topic]map[model.UnitKey]bool
}

type parked struct {
	entry  Entry
	topics []model.Topic
	helps  func(model.Topic) bool
}

// New is an empty Queue.
func New() *Queue {
	return &Queue{
		ready:  entries{at: map[model.UnitKey]int{}},
		later:  entries{at: map[model.UnitKey]int{}},
		parked: map[model.UnitKey]*parked{},
		topics: map[model.Topic]map[model.UnitKey]bool{},
	}
}

// Add puts a unit in line, with its current rank if it is there already; one that needs a further slice still does. A
// parked unit is parked no longer.
func (q *Queue) Add(entry Entry) {
	q.unpark(entry.Key)
	if at, ok := q.later.at[entry.Key]; ok {
		entry.Slice = max(entry.Slice, q.later.list[at].Slice)
	}
	line, other := &q.ready, &q.later
	if entry.Slice > 0 {
		line, other = other, line
	}
	other.remove(entry.Key)
	line.put(entry)
}

// maxPassed is how many units go before one that needs a further slice.
const maxPassed = 100

// Pop takes the first unit.
func (q *Queue) Pop() (Entry, bool) {
	switch {
	case len(q.later.list) > 0 && (len(q.ready.list) == 0 || q.passed >= maxPassed):
		q.passed = 0
		return heap.Pop(&q.later).(Entry), true
	case len(q.ready.list) > 0:
		q.passed++
		return heap.Pop(&q.ready).(Entry), true
	}
	return Entry{}, false
}

// Park keeps the unit until one of the topics comes up.
func (q *Queue) Park(entry Entry, topics []model.Topic) {
	q.ParkUntil(entry, topics, func(model.Topic) bool { return true })
}

// ParkUntil keeps the unit until one of the topics comes up and helps. Room on any node is a topic without a key;
// helps is asked with the node. It has to be quick: it is called for each parked unit, not only the first.
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

// Wake puts the parked units that wait for any of the topics, and that it helps, in line again.
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

// wake puts those in line that wait for one topic, as something that it stands for has come up.
func (q *Queue) wake(waited, topic model.Topic) {
	for key := range q.topics[waited] {
		if p := q.parked[key]; p.helps(topic) {
			q.Add(p.entry)
		}
	}
}

// Remove forgets a unit.
func (q *Queue) Remove(key model.UnitKey) {
	q.unpark(key)
	q.ready.remove(key)
	q.later.remove(key)
}

// Len is how many units are in line, and how many are parked.
func (q *Queue) Len() (ready, waiting int) {
	return len(q.ready.list) + len(q.later.list), len(q.parked)
}

// Parked returns the keys of the parked units, in no order.
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

// entries is a heap that knows where each unit is.
type entries struct {
	list []Entry
	at   map[model.UnitKey]int
}

func (h *entries) put(entry Entry) {
	if at, ok := h.at[entry.Key]; ok {
		h.list[at] = entry
		heap.Fix(h, at)
		return
	}
	heap.Push(h, entry)
}

func (h *entries) remove(key model.UnitKey) {
	if at, ok := h.at[key]; ok {
		heap.Remove(h, at)
	}
}

func (h *entries) Len() int           { return len(h.list) }
func (h *entries) Less(i, j int) bool { return h.list[i].before(&h.list[j]) }

func (h *entries) Swap(i, j int) {
	h.list[i], h.list[j] = h.list[j], h.list[i]
	h.at[h.list[i].Key], h.at[h.list[j].Key] = i, j
}

func (h *entries) Push(x any) {
	entry := x.(Entry)
	h.at[entry.Key] = len(h.list)
	h.list = append(h.list, entry)
}

func (h *entries) Pop() any {
	last := h.list[len(h.list)-1]
	h.list = h.list[:len(h.list)-1]
	delete(h.at, last.Key)
	return last
}
