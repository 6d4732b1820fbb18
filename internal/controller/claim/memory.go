package claim

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/lru"

	resource "github.com/allot-dev/allot/api/resource/v1"
	"github.com/allot-dev/allot/internal/claims"
)

// madeLife ends the trust in an own claim that the cache never shows: it may have been
// deleted again before it could be remembered.
const madeLife = time.Minute

// made remembers claims that this process has created, until the cache shows them, by
// their owner's UID.
type made struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	of    map[types.UID]map[string]madeClaim // owner → name
}

type madeClaim struct {
	claim *resource.ResourceClaim
	at    time.Time
}

func newMade(clock clock.PassiveClock) *made {
	return &made{clock: clock, of: map[types.UID]map[string]madeClaim{}}
}

func (m *made) add(owner types.UID, claim *resource.ResourceClaim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[owner] == nil {
		m.of[owner] = map[string]madeClaim{}
	}
	m.of[owner][claim.Name] = madeClaim{claim, m.clock.Now()}
}

// list gives the owner's claims that the cache has not shown yet.
func (m *made) list(owner types.UID) []*resource.ResourceClaim {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*resource.ResourceClaim
	for _, name := range slices.Sorted(maps.Keys(m.of[owner])) {
		if c := m.of[owner][name]; m.clock.Since(c.at) < madeLife {
			out = append(out, c.claim)
		} else {
			m.forget(owner, name)
		}
	}
	return out
}

// seen forgets a claim that the cache has shown, and tells whether it was known.
func (m *made) seen(owner types.UID, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.of[owner][name]
	m.forget(owner, name)
	return known
}

// drop forgets all claims of an owner that is gone.
func (m *made) drop(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, owner)
}

// forget is called with the lock held.
func (m *made) forget(owner types.UID, name string) {
	delete(m.of[owner], name)
	if len(m.of[owner]) == 0 {
		delete(m.of, owner)
	}
}

// heard remembers since when an owner could have had its claims, until it has them.
type heard struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[Key]time.Time
}

func newHeard(clock clock.PassiveClock) *heard {
	return &heard{clock: clock, since: map[Key]time.Time{}}
}

// of has the owner's time begin now.
func (h *heard) of(owner Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since[owner] = h.clock.Now()
}

// took is how long the owner has waited.
func (h *heard) took(owner Key) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	since, ok := h.since[owner]
	if !ok {
		return 0
	}
	return h.clock.Since(since)
}

// drop forgets an owner that is gone or has all its claims.
func (h *heard) drop(owner Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.since, owner)
}

// waiting remembers who waits for which template. Source and namespace name it; the
// namespace of cluster-wide ones is "".
type waiting struct {
	mu         sync.Mutex
	byTemplate map[templateKey]map[Key]bool
}

type templateKey struct {
	namespace string
	source    claims.Source
}

func newWaiting() *waiting { return &waiting{byTemplate: map[templateKey]map[Key]bool{}} }

func (w *waiting) add(template templateKey, key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byTemplate[template] == nil {
		w.byTemplate[template] = map[Key]bool{}
	}
	w.byTemplate[template][key] = true
}

// take gives who waits for the template, and forgets them: they look again.
func (w *waiting) take(template templateKey) []Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(w.byTemplate[template]), func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	delete(w.byTemplate, template)
	return keys
}

// drop forgets one that is gone.
func (w *waiting) drop(key Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for template, keys := range w.byTemplate {
		delete(keys, key)
		if len(keys) == 0 {
			delete(w.byTemplate, template)
		}
	}
}

// said remembers, by object, the problem that was told of last.
type said struct {
	mu   sync.Mutex
	last map[types.UID]string
}

func newSaid() *said { return &said{last: map[types.UID]string{}} }

// news tells whether text has not just been said of the object; "" forgets it.
func (s *said) news(uid types.UID, text string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text == "" {
		delete(s.last, uid)
		return false
	}
	if s.last[uid] == text {
		return false
	}
	s.last[uid] = text
	return true
}

// looked remembers when consumers of other kinds were looked for.
type looked struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	at    *lru.Cache // UID → time.Time; one that is forgotten is looked for again
}

func newLooked(clock clock.PassiveClock) *looked {
	return &looked{clock: clock, at: lru.New(deletedSize)}
}

// again is how long to wait before the consumer is looked for again. When it is 0, the
// caller does so now.
func (l *looked) again(uid types.UID) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.at.Get(uid); ok {
		if wait := foreignPeriod - l.clock.Since(at.(time.Time)); wait > 0 {
			return wait
		}
	}
	l.at.Add(uid, l.clock.Now())
	return 0
}

// set is a set that may be used from several goroutines.
type set[T comparable] struct {
	mu  sync.Mutex
	has map[T]bool
}

func newSet[T comparable]() *set[T] { return &set[T]{has: map[T]bool{}} }

func (s *set[T]) add(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.has[v] = true
}

func (s *set[T]) contains(v T) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.has[v]
}

func (s *set[T]) remove(v T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.has, v)
}
