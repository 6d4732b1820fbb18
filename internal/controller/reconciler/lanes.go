package reconciler

import "k8s.io/client-go/util/workqueue"

// slowTurn is which key of so many is of the slow lane: however many keys hurry, the others come forward.
const slowTurn = 4

// lanes is the order of a queue with a fast lane: keys that first names go before most others, each lane in the order of arrival.
type lanes[K comparable] struct {
	first      Lanes[K]
	fast, slow workqueue.Queue[K]
	overtaken  int // keys of the fast lane since the last of the slow one
}

func newLanes[K comparable](first Lanes[K]) *lanes[K] {
	return &lanes[K]{first: first, fast: workqueue.DefaultQueue[K](), slow: workqueue.DefaultQueue[K]()}
}

func (l *lanes[K]) Touch(K) {}

func (l *lanes[K]) Push(key K) {
	if l.first(key) {
		l.fast.Push(key)
	} else {
		l.slow.Push(key)
	}
}

func (l *lanes[K]) Len() int { return l.fast.Len() + l.slow.Len() }

func (l *lanes[K]) Pop() K {
	if l.fast.Len() == 0 || l.slow.Len() > 0 && l.overtaken == slowTurn-1 {
		l.overtaken = 0
		return l.slow.Pop()
	}
	l.overtaken++
	return l.fast.Pop()
}
