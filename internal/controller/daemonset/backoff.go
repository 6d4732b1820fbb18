package daemonset

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	apps "github.com/allot-dev/allot/api/apps/v1"
)

// A failed pod is deleted immediately the first time, and then after delays that double each time.
const (
	firstWait = time.Second
	lastWait  = 15 * time.Minute
)

// backoff records where pods have failed. It is safe for concurrent use.
type backoff struct {
	mu       sync.Mutex
	failures map[failureKey]failure
}

// failureKey includes the generation of the set, because a new spec deserves another try.
type failureKey struct {
	set        types.UID
	generation int64
	node       string
}

type failure struct {
	time time.Time
	wait time.Duration
}

func newBackoff() *backoff { return &backoff{failures: map[failureKey]failure{}} }

// remaining returns the remaining delays for failed pods of the set, by node.
func (b *backoff) remaining(set *apps.DaemonSet, now time.Time) map[string]time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	left := map[string]time.Duration{}
	for key, f := range b.failures {
		if key.set == set.UID && key.generation == set.Generation {
			if wait := f.time.Add(f.wait).Sub(now); wait > 0 {
				left[key.node] = wait
			}
		}
	}
	return left
}

// note records that a failed pod on a node is replaced, and drops expired records.
func (b *backoff) note(set *apps.DaemonSet, node string, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.failures, func(key failureKey, f failure) bool {
		return now.Sub(f.time) > 2*lastWait || key.set == set.UID && key.generation != set.Generation
	})
	key := failureKey{set.UID, set.Generation, node}
	wait := firstWait
	if f, ok := b.failures[key]; ok {
		wait = min(2*f.wait, lastWait)
	}
	b.failures[key] = failure{time: now, wait: wait}
}

// forget drops the records of a deleted set.
func (b *backoff) forget(set types.UID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.failures, func(key failureKey, _ failure) bool { return key.set == set })
}
