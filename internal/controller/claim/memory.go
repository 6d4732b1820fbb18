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

// pendingLife is the time after which a created claim that the cache never shows is dropped: it may
// have been deleted before it was recorded.
const pendingLife = time.Minute

// pendingCreates holds the claims that this process has created until the cache shows them, by the
// UID of the owner.
type pendingCreates struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	of    map[types.UID]map[string]pendingClaim // by owner and name
}

type pendingClaim struct {
	claim *resource.ResourceClaim
	at    time.Time
}

func newMade(clock clock.PassiveClock) *pendingCreates {
	return &pendingCreates{clock: clock, of: map[types.UID]map[string]pendingClaim{}}
}

func (m *pendingCreates) add(owner types.UID, claim *resource.ResourceClaim) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.of[owner] == nil {
		m.of[owner] = map[string]pendingClaim{}
	}
	m.of[owner][claim.Name] = pendingClaim{claim, m.clock.Now()}
}

// list returns the owner's claims that the cache does not show yet.
func (m *pendingCreates) list(owner types.UID) []*resource.ResourceClaim {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []*resource.ResourceClaim
	for _, name := range slices.Sorted(maps.Keys(m.of[owner])) {
		if c := m.of[owner][name]; m.clock.Since(c.at) < pendingLife {
			out = append(out, c.claim)
		} else {
			m.forget(owner, name)
		}
	}
	return out
}

// seen drops a claim that the cache shows, and reports whether it was pending.
func (m *pendingCreates) seen(owner types.UID, name string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, known := m.of[owner][name]
	m.forget(owner, name)
	return known
}

// drop drops all claims of a deleted owner.
func (m *pendingCreates) drop(owner types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, owner)
}

// forget drops one claim. The lock must be held.
func (m *pendingCreates) forget(owner types.UID, name string) {
	delete(m.of[owner], name)
	if len(m.of[owner]) == 0 {
		delete(m.of, owner)
	}
}

// waitSince records since when an owner could have its claims, until it has them.
type waitSince struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[Key]time.Time
}

func newHeard(clock clock.PassiveClock) *waitSince {
	return &waitSince{clock: clock, since: map[Key]time.Time{}}
}

// of starts the time of the owner.
func (h *waitSince) of(owner Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.since[owner] = h.clock.Now()
}

// took returns how long the owner has waited.
func (h *waitSince) took(owner Key) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	since, ok := h.since[owner]
	if !ok {
		return 0
	}
	return h.clock.Since(since)
}

// waits reports whether the owner lacks claims that it could have.
func (h *waitSince) waits(owner Key) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.since[owner]
	return ok
}

// drop drops an owner that was deleted or has all its claims.
func (h *waitSince) drop(owner Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.since, owner)
}

// waiting records the owners that wait for a template, identified by source and namespace, which is
// "" for cluster-scoped templates.
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

// take removes and returns the owners that wait for the template. They are reconciled again.
func (w *waiting) take(template templateKey) []Key {
	w.mu.Lock()
	defer w.mu.Unlock()
	keys := slices.SortedFunc(maps.Keys(w.byTemplate[template]),
		func(a, b Key) int { return strings.Compare(a.String(), b.String()) })
	delete(w.byTemplate, template)
	return keys
}

// drop drops a deleted owner.
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

// eventDeduper records the last reported problem of each object.
type eventDeduper struct {
	mu   sync.Mutex
	last map[types.UID]string
}

func newSaid() *eventDeduper { return &eventDeduper{last: map[types.UID]string{}} }

// isNew reports whether text differs from the last text for the object; "" drops the object.
func (s *eventDeduper) isNew(uid types.UID, text string) bool {
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

// foreignChecked records when consumers of other kinds were checked.
type foreignChecked struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	at    *lru.Cache // UID → time.Time; a dropped entry is checked again
}

func newLooked(clock clock.PassiveClock) *foreignChecked {
	return &foreignChecked{clock: clock, at: lru.New(deletedSize)}
}

// due reports whether the consumer must be checked now, and records the check.
func (l *foreignChecked) due(uid types.UID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if at, ok := l.at.Get(uid); ok && l.clock.Since(at.(time.Time)) < foreignPeriod {
		return false
	}
	l.at.Add(uid, l.clock.Now())
	return true
}

// foreignSince records when consumers that are neither pods nor PodGroups were first seen in
// status.reservedFor. The scheduler writes them before it binds the first pod, and they represent
// pods that are not named. Until that pod is in the cache, only they keep the claim.
type foreignSince struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[types.UID]map[types.UID]time.Time // by claim and consumer
}

func newStood(clock clock.PassiveClock) *foreignSince {
	return &foreignSince{clock: clock, since: map[types.UID]map[types.UID]time.Time{}}
}

// see records the current consumers of the claim.
func (s *foreignSince) see(claim *resource.ResourceClaim) {
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

// drop drops a deleted claim.
func (s *foreignSince) drop(claim types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, claim)
}

// left returns the rest of d until the consumer has been in the claim for that time.
func (s *foreignSince) left(claim, consumer types.UID, d time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, ok := s.since[claim][consumer]
	if !ok {
		return d
	}
	return d - s.clock.Since(at)
}

// idlePeriod is how long an allocation may exist without a consumer before it is released, so that
// a manual allocation can be reserved.
const idlePeriod = time.Minute

// idle records when allocated claims without consumers can be released.
type idle struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	due   map[types.UID]time.Time
}

func newIdle(clock clock.PassiveClock) *idle {
	return &idle{clock: clock, due: map[types.UID]time.Time{}}
}

// after records that the idle claim can be released after d, unless a time is set already.
func (i *idle) after(uid types.UID, d time.Duration) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if at := i.clock.Now().Add(d); i.due[uid].IsZero() || at.Before(i.due[uid]) {
		i.due[uid] = at
	}
}

// isDue reports whether the claim can be released.
func (i *idle) isDue(uid types.UID) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	at, ok := i.due[uid]
	return ok && !i.clock.Now().Before(at)
}

// drop drops a claim that is in use, deallocated or deleted.
func (i *idle) drop(uid types.UID) {
	i.mu.Lock()
	defer i.mu.Unlock()
	delete(i.due, uid)
}
