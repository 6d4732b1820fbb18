package node

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

// ownWritePatience limits the wait for an own write to appear in the cache. It is reached only if
// the object was changed and deleted during an interruption of the watch, so that the cache never
// shows the write.
const ownWritePatience = 10 * time.Second

// ownWrites records the agent's writes until the caches show them.
type ownWrites struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	written map[string]echo
}

type echo struct {
	version string // empty if the object was deleted
	at      time.Time
}

func newEchoes(c clock.PassiveClock) *ownWrites {
	return &ownWrites{clock: c, written: map[string]echo{}}
}

// wrote records the resource version after a write.
func (e *ownWrites) wrote(key, version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written[key] = echo{version, e.clock.Now()}
}

// removed records that the object was deleted.
func (e *ownWrites) removed(key string) { e.wrote(key, "") }

// forget drops the records of an object that no longer exists.
func (e *ownWrites) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.written, key)
}

// missing reports whether the cache does not show a write yet. cached is the resource version in
// the cache, or "" if it does not have the object.
func (e *ownWrites) missing(key, cached string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	w, ok := e.written[key]
	if !ok {
		return false
	}
	if w.version == "" && cached == "" {
		delete(e.written, key)
		return false
	}
	if w.version != "" && cached != "" {
		if order, err := resourceversion.CompareResourceVersion(cached, w.version); err != nil || order >= 0 {
			delete(e.written, key)
			return false
		}
	}
	if e.clock.Since(w.at) > ownWritePatience {
		delete(e.written, key)
		return false
	}
	return true
}
