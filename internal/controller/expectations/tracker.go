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
	cache  Cache
	clock  clock.PassiveClock
	expiry time.Duration

	mu     sync.Mutex
	seen   uint64                            // newest resource version that the cache delivered
	swept  time.Time                         // when what had ended was last dropped
	owners map[types.UID]map[types.UID]write // owner → object → the write that is awaited
}

type write struct {
	namespace, name string
	deleted         bool
	version         uint64 // of a creation; 0 when the server's versions are not numbers
	at              time.Time
}

// NewTracker returns an empty Tracker; expectations end after expiry.
func NewTracker(cache Cache, clock clock.PassiveClock, expiry time.Duration) *Tracker {
	return &Tracker{cache: cache, clock: clock, expiry: expiry, owners: map[types.UID]map[types.UID]write{}}
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
	for owner, writes := range t.owners {
		maps.DeleteFunc(writes, func(_ types.UID, w write) bool { return now.Sub(w.at) >= t.expiry })
		if len(writes) == 0 {
			delete(t.owners, owner)
		}
	}
}

// Satisfied reports whether the cache shows all that owner's controller wrote;
// otherwise wait is the time after which the oldest expectation ends.
func (t *Tracker) Satisfied(owner types.UID) (ok bool, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	writes := t.owners[owner]
	now := t.clock.Now()
	maps.DeleteFunc(writes, func(uid types.UID, w write) bool {
		return now.Sub(w.at) >= t.expiry || t.shown(uid, w)
	})
	if len(writes) == 0 {
		delete(t.owners, owner)
		return true, 0
	}
	oldest := now
	for _, w := range writes {
		if w.at.Before(oldest) {
			oldest = w.at
		}
	}
	return false, t.expiry - now.Sub(oldest)
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

// version is obj's resource version as a number. Versions of one resource are
// comparable numbers since Kubernetes 1.35; any other text gives 0.
func version(obj metav1.Object) uint64 {
	v, err := strconv.ParseUint(obj.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}
