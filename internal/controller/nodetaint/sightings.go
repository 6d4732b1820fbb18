package nodetaint

import (
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
)

// sightings records when taints without timeAdded, which old objects may have, were first seen.
type sightings struct {
	clock clock.PassiveClock

	mu     sync.Mutex // guards seen
	byNode map[string][]sighting
}

// sighting is a taint with the time at which it was first seen.
type sighting struct {
	taint corev1.Taint
	time  time.Time
}

func (s *sighting) matches(t *corev1.Taint) bool {
	return s.taint.Key == t.Key && s.taint.Value == t.Value && s.taint.Effect == t.Effect
}

// addedAt returns the time at which the taint was added to the node.
func (s *sightings) addedAt(node string, t *corev1.Taint) time.Time {
	if t.TimeAdded != nil {
		return t.TimeAdded.Time
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, known := range s.byNode[node] {
		if known.matches(t) {
			return known.time
		}
	}
	now := s.clock.Now()
	s.byNode[node] = append(s.byNode[node], sighting{*t, now})
	return now
}

// setTaints replaces the recorded taints of a node, and keeps the times of those that remain.
func (s *sightings) setTaints(node string, taints []corev1.Taint) {
	for i := range taints {
		s.addedAt(node, &taints[i])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	left := slices.DeleteFunc(s.byNode[node], func(known sighting) bool {
		return !slices.ContainsFunc(taints, func(t corev1.Taint) bool { return known.matches(&t) })
	})
	if len(left) == 0 {
		delete(s.byNode, node)
		return
	}
	s.byNode[node] = left
}
