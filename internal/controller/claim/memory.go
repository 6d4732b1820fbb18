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

// waits says whether the owner could have claims that it lacks.
func (h *heard) waits(owner Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.since[owner]
	return ok
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

// due tells whether the consumer has to be looked for; then the caller does so now.
func (l *looked) due(uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.at.Get(uid); ok && l.clock.Since(at.(time.Time)) < foreignPeriod {
		return false
	}
	l.at.Add(uid, l.clock.Now())
	return true
}

// stood remembers since when consumers of other kinds have stood in a claim. The scheduler writes them before it binds
// the first pod, and they stand for pods unnamed: before that pod is in the cache, nothing but they keeps the claim.
type stood struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[types.UID]map[types.UID]time.Time // claim → consumer
}

func newStood(clock clock.PassiveClock) *stood {
	return &stood{clock: clock, since: map[types.UID]map[types.UID]time.Time{}}
}

// see notes who stands in the claim now.
func (s *stood) see(claim *resource.ResourceClaim) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.since[claim.UID]
	delete(s.since, claim.UID)
	for _, ref := range claim.Status.ReservedFor {
		if claims.IsPodConsumer(ref) || claims.IsGroupConsumer(ref) {
			continue
		}
		at, ok := before[ref.UID]
		if !ok {
			at = s.clock.Now()
		}
		if s.since[claim.UID] == nil {
			s.since[claim.UID] = map[types.UID]time.Time{}
		}
		s.since[claim.UID][ref.UID] = at
	}
}

// drop forgets a claim that is gone.
func (s *stood) drop(claim types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, claim)
}

// left is how much of d is left until the consumer has stood in the claim so long.
func (s *stood) left(claim, consumer types.UID, d time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.since[claim][consumer]
	if !ok {
		return d
	}
	return d - s.clock.Since(at)
}

// idlePeriod is how long an allocation may be without a consumer before it counts as let go. Whoever allocates by hand
// has so long to say for whom.
const idlePeriod = time.Minute

// idle remembers allocated claims without consumers, and from when on they count as let go.
type idle struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	due   map[types.UID]time.Time
}

func newIdle(clock clock.PassiveClock) *idle {
	return &idle{clock: clock, due: map[types.UID]time.Time{}}
}

// after notes that the claim is idle, and counts as let go when d has passed, unless that was so already.
func (i *idle) after(uid types.UID, d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at := i.clock.Now().Add(d); i.due[uid].IsZero() || at.Before(i.due[uid]) {
		i.due[uid] = at
	}
}

// letGo tells whether the claim counts as let go.
func (i *idle) letGo(uid types.UID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	at, ok := i.due[uid]
	return ok && !i.clock.Now().Before(at)
}

// drop forgets a claim that is in use, or free, or gone.
func (i *idle) drop(uid types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.due, uid)
}
