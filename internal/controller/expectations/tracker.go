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

// Cache returns whether an object with this name and UID is cached, and whether it is terminating.
type Cache func(namespace, name string, uid types.UID) (present, terminating bool)

// In returns a Cache that reads with get.
func In[T metav1.Object](get func(namespace, name string) (T, bool)) Cache {
	return func(namespace, name string, uid types.UID) (present, terminating bool) {
		obj, ok := get(namespace, name)
		if !ok || obj.GetUID() != uid {
			return false, false
		}
		return true, obj.GetDeletionTimestamp() != nil
	}
}

// Tracker holds the expectations of all owners of one controller. It is safe for concurrent use.
type Tracker struct {
	cache   Cache
	clock   clock.PassiveClock
	expiry  time.Duration
	reached func() string // version of the cache; may be nil

	mu     sync.Mutex
	newest uint64                            // newest resource version delivered by the cache
	swept  time.Time                         // last removal of expired expectations
	owners map[types.UID]map[types.UID]write // by owner and object
	doubts map[types.UID]*doubt              // by owner
}

type write struct {
	namespace, name string
	deleted         bool
	live            bool   // read from the API: the cache must have this version
	version         uint64 // unless deleted; 0 if versions are not numbers
	since           uint64 // version of the cache at that time; 0 if unknown
	time            time.Time
}

// doubt is the state of an owner with requests that had no response.
type doubt struct {
	deleted   map[types.UID]metav1.Object // objects of such deletions
	requested time.Time                   // time of the last request or call of InDoubt
}

// doubtLife is the number of expiry times for which a doubt is kept that is not asked for: its
// owner no longer exists.
const doubtLife = 10

// NewTracker returns an empty Tracker. Expectations end after expiry.
func NewTracker(cache Cache, clock clock.PassiveClock, expiry time.Duration) *Tracker {
	return &Tracker{
		cache: cache, clock: clock, expiry: expiry,
		owners: map[types.UID]map[types.UID]write{}, doubts: map[types.UID]*doubt{},
	}
}

// Follow makes the tracker use the resource version that the cache has reached, "" if unknown:
// expectations do not expire while the cache is disconnected from the server.
func (t *Tracker) Follow(reached func() string) *Tracker {
	t.reached = reached
	return t
}

// Created records that owner's controller created obj, as the server returned it.
func (t *Tracker) Created(owner types.UID, obj metav1.Object) {
	t.record(owner, obj, write{version: version(obj)})
}

// Deleted records that owner's controller deleted obj, as it was in the cache.
func (t *Tracker) Deleted(owner types.UID, obj metav1.Object) {
	t.record(owner, obj, write{deleted: true})
}

// Doubt records that a creation or deletion by owner's controller had no response, and may
// have been made. deleted is the object of a deletion, as it was in the cache, and nil for
// a creation. The owner is not satisfied before Resolve.
func (t *Tracker) Doubt(owner types.UID, deleted metav1.Object) {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.doubts[owner]
	if d == nil {
		d = &doubt{deleted: map[types.UID]metav1.Object{}}
		t.doubts[owner] = d
	}
	d.requested = now
	if deleted != nil {
		d.deleted[deleted.GetUID()] = deleted
	}
}

// InDoubt reports whether a request for owner had no response. The objects of the owner must then
// be read from the API, without the server's cache, and given to Resolve.
func (t *Tracker) InDoubt(owner types.UID) bool {
	now := t.clock.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.doubts[owner]
	if d != nil {
		d.requested = now
	}
	return d != nil
}

// Resolve ends the doubt about owner. live are all its objects, read after the last request. They
// are expected as they are, and so is the end of the objects of deletions that are not among them.
func (t *Tracker) Resolve(owner types.UID, live []metav1.Object) {
	since := t.cacheVersion()
	t.mu.Lock()
	defer t.mu.Unlock()
	d := t.doubts[owner]
	if d == nil {
		return
	}
	delete(t.doubts, owner)
	for _, obj := range live {
		delete(d.deleted, obj.GetUID())
		t.store(owner, obj, write{live: true, version: version(obj), since: since})
	}
	for _, obj := range d.deleted {
		t.store(owner, obj, write{deleted: true, since: since})
	}
}

func (t *Tracker) record(owner types.UID, obj metav1.Object, w write) {
	w.since = t.cacheVersion()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.store(owner, obj, w)
}

func (t *Tracker) store(owner types.UID, obj metav1.Object, w write) {
	w.namespace, w.name, w.time = obj.GetNamespace(), obj.GetName(), t.clock.Now()
	t.sweep(w.time)
	writes := t.owners[owner]
	if writes == nil {
		writes = map[types.UID]write{}
		t.owners[owner] = writes
	}
	writes[obj.GetUID()] = w
}

// Observe handles an event of the cache: before is nil for a new object, and after is nil for a
// deleted one. It must be called for every event, in order, after the cache has changed.
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
	t.newest = max(t.newest, v)
	t.sweep(now)
}

// sweep removes expired expectations, at most once per expiry time: a response may arrive after its
// owner was forgotten, and then no call for this owner follows.
func (t *Tracker) sweep(now time.Time) {
	if now.Sub(t.swept) < t.expiry {
		return
	}
	t.swept = now
	reached := t.cacheVersion()
	t.newest = max(t.newest, reached)
	for owner, writes := range t.owners {
		maps.DeleteFunc(writes, func(_ types.UID, w write) bool { return t.hasExpired(w, now, reached) })
		if len(writes) == 0 {
			delete(t.owners, owner)
		}
	}
	maps.DeleteFunc(t.doubts, func(_ types.UID, d *doubt) bool { return now.Sub(d.requested) >= doubtLife*t.expiry })
}

// Satisfied reports whether the cache shows all writes of owner's controller. Otherwise wait is the
// time until the next check.
func (t *Tracker) Satisfied(owner types.UID) (ok bool, wait time.Duration) {
	reached := t.cacheVersion()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.newest = max(t.newest, reached)
	writes := t.owners[owner]
	now := t.clock.Now()
	maps.DeleteFunc(writes, func(uid types.UID, w write) bool {
		return t.isShown(uid, w) || t.hasExpired(w, now, reached)
	})
	if len(writes) == 0 {
		delete(t.owners, owner)
	}
	if t.doubts[owner] != nil {
		return false, t.expiry
	}
	if len(writes) == 0 {
		return true, 0
	}
	for _, w := range writes {
		if left := t.expiry - now.Sub(w.time)%t.expiry; wait == 0 || left < wait {
			wait = left
		}
	}
	return false, wait
}

// hasExpired reports whether an expectation has expired: for a creation, not while the cache is known to
// be behind; for a deletion, not while the cache has made no progress since.
func (t *Tracker) hasExpired(w write, now time.Time, reached uint64) bool {
	switch {
	case now.Sub(w.time) < t.expiry:
		return false
	case reached == 0 || w.since == 0:
		return true
	case w.version > 0:
		return t.newest >= w.version
	}
	return reached > w.since
}

// cacheVersion returns the version that the cache has reached, or 0 if that is unknown.
func (t *Tracker) cacheVersion() uint64 {
	if t.reached == nil {
		return 0
	}
	return number(t.reached())
}

func (t *Tracker) isShown(uid types.UID, w write) bool {
	present, terminating := t.cache(w.namespace, w.name, uid)
	if w.deleted {
		return !present || terminating
	}
	if w.live && w.version > 0 {
		return t.newest >= w.version
	}
	return present || (w.version > 0 && t.newest >= w.version)
}

// Forget drops the expectations of a deleted owner. Later ones expire.
func (t *Tracker) Forget(owner types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.owners, owner)
	delete(t.doubts, owner)
}

func version(obj metav1.Object) uint64 { return number(obj.GetResourceVersion()) }

// number returns a resource version as a number, or 0 if it is not a number. Versions of one
// resource are comparable numbers since Kubernetes 1.35.
func number(version string) uint64 {
	v, err := strconv.ParseUint(version, 10, 64)
	if err != nil {
		return 0
	}
	return v
}
