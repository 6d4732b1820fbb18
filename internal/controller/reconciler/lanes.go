package reconciler

import (
	"time"

	"k8s.io/utils/clock"
)

// patience is how much longer a key of the slow lane waits than one of the fast lane. Then it comes first, however many hurry.
const patience = 300 * time.Millisecond

// lanes is the order of a queue with a fast lane: keys that first names go before others, unless these have waited for long; each
// lane in the order of arrival.
type lanes[K comparable] struct {
	first      Lanes[K]
	clock      clock.PassiveClock
	fast, slow lane[K]
}

func newLanes[K comparable](first Lanes[K], clock clock.PassiveClock) *lanes[K] {
	return &lanes[K]{first: first, clock: clock}
}

func (l *lanes[K]) Touch(K) {}

func (l *lanes[K]) Push(key K) {
	w := waiting[K]{key: key, since: l.clock.Now()}
	if l.first(key) {
		l.fast = append(l.fast, w)
	} else {
		w.since = w.since.Add(patience)
		l.slow = append(l.slow, w)
	}
}

func (l *lanes[K]) Len() int { return len(l.fast) + len(l.slow) }

func (l *lanes[K]) Pop() K {
	if len(l.fast) == 0 || len(l.slow) > 0 && l.slow[0].since.Before(l.fast[0].since) {
		return l.slow.pop()
	}
	return l.fast.pop()
}

// lane is a queue of keys, those that came first in front.
type lane[K comparable] []waiting[K]

type waiting[K comparable] struct {
	key   K
	since time.Time // as it counts: a key of the slow lane stands as if it had come later
}

func (l *lane[K]) pop() K {
	key := (*l)[0].key
	(*l)[0] = waiting[K]{} // not kept alive by those behind it
	*l = (*l)[1:]
	return key
}
