package expectations

import (
	"maps"
	"strconv"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// Cache answers whether an object is cached under its name with its UID, and
// whether it is being deleted there.
type Cache func(namespace, name string, uid types.UID) (present, terminating bool)

// In is the Cache that get looks into.
func In[T metav1.Object](get func(namespace, name string) (T, bool)) Cache {
	return func(namespace, name string, uid types.UID) (present, terminating bool) {
		obj, ok := get(namespace, name)
		if !ok || obj.GetUID() != uid {
			return false, false
		}
		return true, obj.GetDeletionTimestamp() != nil
	}
}

// Tracker holds the expectations of all owners of one controller. It is safe for
// use from several goroutines.
type Tracker struct {
	cache   Cache
	clock   clock.PassiveClock
	expiry  time.Duration
	reached func() string // nil, or how far the cache is

	mu     sync.Mutex
	seen   uint64                            // newest resource version that the cache delivered
	swept  time.Time                         // when what had ended was last dropped
	owners map[types.UID]map[types.UID]write // owner → object → the write that is awaited
}

type write struct {
	namespace, name string
	deleted         bool
	version         uint64 // of a creation; 0 when the server's versions are not numbers
	since           uint64 // how far the cache was then; 0: unknown
	at              time.Time
}

// NewTracker returns an empty Tracker; expectations end after expiry.
func NewTracker(cache Cache, clock clock.PassiveClock, expiry time.Duration) *Tracker {
	return &Tracker{cache: cache, clock: clock, expiry: expiry, owners: map[types.UID]map[types.UID]write{}}
}

// Follow has the tracker ask the cache for the resource version that it has reached, "" when that is unknown: a cache that is cut
// off from the server for longer than the expiry has an expectation wait on.
func (t *Tracker) Follow(reached func() string) *Tracker {
	t.reached = reached
	return t
}

// Created records that owner's controller created obj, as the server returned it.
func (t *Tracker) Created(owner types.UID, obj metav1.Object) {
	t.record(owner, obj, write{version: version(obj)})
}

// Deleted records that owner's controller deleted obj, as the cache showed it.
func (t *Tracker) Deleted(owner types.UID, obj metav1.Object) {
	t.record(owner, obj, write{deleted: true})
}

func (t *Tracker) record(owner types.UID, obj metav1.Object, w write) {
	w.namespace, w.name, w.at = obj.GetNamespace(), obj.GetName(), t.clock.Now()
	w.since = t.cacheVersion()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.sweep(w.at)
	writes := t.owners[owner]
	if writes == nil {
		writes = map[types.UID]write{}
		t.owners[owner] = writes
	}
	writes[obj.GetUID()] = w
}

// Observe notes an event of the cache, after which an object is as it was before or after: nil when it was not there yet,
// or is gone. It must be called for every event, in order, after the cache itself has changed.
func Observe[T interface {
	comparable
	metav1.Object
}](t *Tracker, before, after T) {
	var none T
	if after != none {
		t.observe(after)
	} else {
		t.observe(before)
	}
}

func (t *Tracker) observe(obj metav1.Object) {
	v, now := version(obj), t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = max(t.seen, v)
	t.sweep(now)
}

// sweep drops the expectations that have ended, once in the time that it takes them to: a write may be answered after its
// owner was forgotten, and nobody asks for that owner again.
func (t *Tracker) sweep(now time.Time) {
	if now.Sub(t.swept) < t.expiry {
		return
	}
	t.swept = now
	reached := t.cacheVersion()
	t.seen = max(t.seen, reached)
	for owner, writes := range t.owners {
		maps.DeleteFunc(writes, func(_ types.UID, w write) bool { return t.over(w, now, reached) })
		if len(writes) == 0 {
			delete(t.owners, owner)
		}
	}
}

// Satisfied reports whether the cache shows all that owner's controller wrote;
// otherwise wait is the time after which the oldest expectation ends, or is to be looked at again.
func (t *Tracker) Satisfied(owner types.UID) (ok bool, wait time.Duration) {
	reached := t.cacheVersion()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen = max(t.seen, reached)
	writes := t.owners[owner]
	now := t.clock.Now()
	maps.DeleteFunc(writes, func(uid types.UID, w write) bool {
		return t.shown(uid, w) || t.over(w, now, reached)
	})
	if len(writes) == 0 {
		delete(t.owners, owner)
		return true, 0
	}
	for _, w := range writes {
		if left := t.expiry - now.Sub(w.at)%t.expiry; wait == 0 || left < wait {
			wait = left
		}
	}
	return false, wait
}

// over says that time ends the expectation: that of a creation not as long as it is known that the cache has yet to come to it,
// nor that of a deletion if the cache has not got any further since.
func (t *Tracker) over(w write, now time.Time, reached uint64) bool {
	switch {
	case now.Sub(w.at) < t.expiry:
		return false
	case reached == 0 || w.since == 0:
		return true
	case w.version > 0:
		return t.seen >= w.version
	}
	return reached > w.since
}

// cacheVersion is how far the cache is, 0 if that is unknown.
func (t *Tracker) cacheVersion() uint64 {
	if t.reached == nil {
		return 0
	}
	return number(t.reached())
}

func (t *Tracker) shown(uid types.UID, w write) bool {
	present, terminating := t.cache(w.namespace, w.name, uid)
	if w.deleted {
		return !present || terminating
	}
	return present || (w.version > 0 && t.seen >= w.version)
}

// Forget drops what is known of an owner that is gone. What is recorded of it later goes when it ends.
func (t *Tracker) Forget(owner types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owners, owner)
}

func version(obj metav1.Object) uint64 { return number(obj.GetResourceVersion()) }

// number is a resource version as a number. Versions of one resource are
// comparable numbers since Kubernetes 1.35; any other text gives 0.
func number(version string) uint64 {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
