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
	written map[string]ownWrite
}

// ownWrite is the last write of one object.
type ownWrite struct {
	version string // empty if the object was deleted
	time    time.Time
}

func newOwnWrites(c clock.PassiveClock) *ownWrites {
	return &ownWrites{clock: c, written: map[string]ownWrite{}}
}

// wrote records the resource version after a write.
func (o *ownWrites) wrote(key, version string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.written[key] = ownWrite{version, o.clock.Now()}
}

// removed records that the object was deleted.
func (o *ownWrites) removed(key string) { o.wrote(key, "") }

// forget drops the records of an object that no longer exists.
func (o *ownWrites) forget(key string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.written, key)
}

// missing reports whether the cache does not show a write yet. cached is the resource version in
// the cache, or "" if it does not have the object.
func (o *ownWrites) missing(key, cached string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	w, ok := o.written[key]
	if !ok {
		return false
	}
	if w.version == "" && cached == "" {
		delete(o.written, key)
		return false
	}
	if w.version != "" && cached != "" {
		if order, err := resourceversion.CompareResourceVersion(cached, w.version); err != nil || order >= 0 {
			delete(o.written, key)
			return false
		}
	}
	if o.clock.Since(w.time) > ownWritePatience {
		delete(o.written, key)
		return false
	}
	return true
}
