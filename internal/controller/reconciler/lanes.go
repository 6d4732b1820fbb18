package reconciler

import (
	"time"

	"k8s.io/utils/clock"
)

// patience is how much longer a key of the slow lane waits than one of the fast lane. Then it comes first, however many hurry.
const patience = 300 * time.Millisecond

// backgroundShare is how many keys are taken until one of the background lane is, while others wait. That lane gets on, and
// never holds up the others, however long it is.
const backgroundShare = 4

// Lane is where a key waits.
type Lane int

// The lanes of a queue.
const (
	// Fast keys go before slow ones, unless these have waited for a while.
	Fast Lane = iota
	Slow
	// Background keys go when no others wait, and one of four does while others wait.
	Background
)

// lanes is the order of a queue with lanes; each lane is in the order of arrival.
type lanes[K comparable] struct {
	of                     Lanes[K]
	clock                  clock.PassiveClock
	fast, slow, background lane[K]
	passed                 int // keys taken since the last one of the background lane
}

func newLanes[K comparable](of Lanes[K], clock clock.PassiveClock) *lanes[K] {
	return &lanes[K]{of: of, clock: clock}
}

func (l *lanes[K]) Touch(K) {}

func (l *lanes[K]) Push(key K) {
	w := waiting[K]{key: key, since: l.clock.Now()}
	switch l.of(key) {
	case Fast:
		l.fast = append(l.fast, w)
	case Slow:
		w.since = w.since.Add(patience)
		l.slow = append(l.slow, w)
	default:
		l.background = append(l.background, w)
	}
}

func (l *lanes[K]) Len() int { return len(l.fast) + len(l.slow) + len(l.background) }

func (l *lanes[K]) Pop() K {
	if len(l.background) > 0 && (l.passed >= backgroundShare-1 || len(l.fast)+len(l.slow) == 0) {
		l.passed = 0
		return l.background.pop()
	}
	l.passed++
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
