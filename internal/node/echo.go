package node

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
)

// echoPatience bounds the wait for an own write to come back. It is only reached when the object was changed and deleted while
// the watch was interrupted, so that the cache never shows what was written.
const echoPatience = 10 * time.Second

// echoes remembers the agent's own writes until the caches have shown them.
type echoes struct {
	clock clock.PassiveClock

	mu      sync.Mutex
	written map[string]echo
}

type echo struct {
	version string // empty: the object was deleted
	at      time.Time
}

func newEchoes(c clock.PassiveClock) *echoes {
	return &echoes{clock: c, written: map[string]echo{}}
}

// wrote notes that a write gave the object this resource version.
func (e *echoes) wrote(key, version string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.written[key] = echo{version, e.clock.Now()}
}

// removed notes that the object was deleted.
func (e *echoes) removed(key string) { e.wrote(key, "") }

// forget is called when the object is gone.
func (e *echoes) forget(key string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.written, key)
}

// missing tells whether the cache, which has the object in this version ("" if it has none), has yet to show a write.
func (e *echoes) missing(key, cached string) bool {
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
	if e.clock.Since(w.at) > echoPatience {
		delete(e.written, key)
		return false
	}
	return true
}
