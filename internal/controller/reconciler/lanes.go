package reconciler

import (
	"time"

	"k8s.io/utils/clock"
)

// patience is the time by which a key in the slow lane is placed behind keys in the fast lane. An
// older slow key comes first, however many fast keys there are.
const patience = 300 * time.Millisecond

// backgroundShare is the number of taken keys of which one is from the background lane, while
// others wait. So this lane makes progress and never delays the others, however long it is.
const backgroundShare = 4

// Lane is one of the lanes of a queue.
type Lane int

// The lanes of a queue.
const (
	// Fast keys come before slow ones, unless these have waited for some time.
	Fast Lane = iota
	Slow
	// Background keys are taken when no others wait, and for one of four keys otherwise.
	Background
)

// lanes orders the keys of a queue with lanes. Each lane is in order of arrival.
type lanes[K comparable] struct {
	config                 Lanes[K]
	clock                  clock.PassiveClock
	fast, slow, background lane[K]
	passed                 int // keys taken since the last one of the background lane
}

func newLanes[K comparable](of Lanes[K], clock clock.PassiveClock) *lanes[K] {
	return &lanes[K]{config: of, clock: clock}
}

func (l *lanes[K]) Touch(K) {}

func (l *lanes[K]) Push(key K) {
	w := waiting[K]{key: key, since: l.clock.Now()}
	switch l.config(key) {
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

// lane is a queue of keys in order of arrival.
type lane[K comparable] []waiting[K]

type waiting[K comparable] struct {
	key   K
	since time.Time // time of arrival, later by patience in the slow lane
}

func (l *lane[K]) pop() K {
	key := (*l)[0].key
	(*l)[0] = waiting[K]{} // let the key be garbage collected
	*l = (*l)[1:]
	return key
}
