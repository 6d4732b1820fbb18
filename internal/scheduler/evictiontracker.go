package scheduler

import (
	"slices"

	"github.com/allot-dev/allot/internal/model"
)

// evictionTracker knows the evictions in progress: which of their pods are not yet seen to
// terminate. A pod may be in several.
type evictionTracker struct {
	state *model.State
	byPod map[model.Key][]*eviction
}

func newEvictionTracker(state *model.State) *evictionTracker {
	return &evictionTracker{state: state, byPod: map[model.Key][]*eviction{}}
}

// add begins to track an eviction.
func (t *evictionTracker) add(e *eviction) {
	for _, pod := range e.pods {
		t.byPod[pod.Key] = append(t.byPod[pod.Key], e)
	}
}

// isEvicted reports whether a pod is in an eviction and not yet seen to terminate.
func (t *evictionTracker) isEvicted(pod *model.Pod) bool {
	return slices.ContainsFunc(t.byPod[pod.Key], func(e *eviction) bool { return e.remaining[pod.Key] == pod.UID })
}

// podChanged removes a pod from its evictions if it terminates, and ends those that have no pod
// left.
func (t *evictionTracker) podChanged(key model.Key) {
	for _, e := range slices.Clone(t.byPod[key]) {
		t.observe(e, key)
		t.endIfDone(e)
	}
}

// written records that all writes of an eviction succeeded.
func (t *evictionTracker) written(e *eviction) {
	e.written = true
	for _, pod := range e.pods {
		t.observe(e, pod.Key)
	}
	t.endIfDone(e)
}

// observe removes a pod from an eviction if it terminates.
func (t *evictionTracker) observe(e *eviction, key model.Key) {
	if pod, ok := t.state.Pods.Get(key); !ok || pod.UID != e.remaining[key] || pod.Deleting {
		t.remove(e, key)
	}
}

// endIfDone ends an eviction, once, when all its pods are seen to terminate.
func (t *evictionTracker) endIfDone(e *eviction) {
	if e.written && len(e.remaining) == 0 {
		e.written = false
		e.done()
	}
}

func (t *evictionTracker) remove(e *eviction, key model.Key) {
	delete(e.remaining, key)
	t.byPod[key] = slices.DeleteFunc(t.byPod[key], func(other *eviction) bool { return other == e })
	if len(t.byPod[key]) == 0 {
		delete(t.byPod, key)
	}
}

// forget ends to track an eviction that failed.
func (t *evictionTracker) forget(e *eviction) {
	for key := range e.remaining {
		t.remove(e, key)
	}
}
