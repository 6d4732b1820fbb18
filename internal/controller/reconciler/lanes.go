package reconciler

import "k8s.io/client-go/util/workqueue"

// lanes is the order of a queue with a fast lane: keys that first names go before all others, each lane in the order of arrival.
type lanes[K comparable] struct {
	first      Lanes[K]
	fast, slow workqueue.Queue[K]
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
	if l.fast.Len() > 0 {
		return l.fast.Pop()
	}
	return l.slow.Pop()
}
