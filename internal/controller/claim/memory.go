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
	clock   clock.PassiveClock
	mu      sync.Mutex
	byOwner map[types.UID]map[string]pendingClaim // by owner and name
}

type pendingClaim struct {
	claim   *resource.ResourceClaim
	created time.Time
}

func newPendingCreates(clock clock.PassiveClock) *pendingCreates {
	return &pendingCreates{clock: clock, byOwner: map[types.UID]map[string]pendingClaim{}}
}

func (p *pendingCreates) add(owner types.UID, claim *resource.ResourceClaim) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.byOwner[owner] == nil {
		p.byOwner[owner] = map[string]pendingClaim{}
	}
	p.byOwner[owner][claim.Name] = pendingClaim{claim, p.clock.Now()}
}

// list returns the owner's claims that the cache does not show yet.
func (p *pendingCreates) list(owner types.UID) []*resource.ResourceClaim {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []*resource.ResourceClaim
	for _, name := range slices.Sorted(maps.Keys(p.byOwner[owner])) {
		if c := p.byOwner[owner][name]; p.clock.Since(c.created) < pendingLife {
			out = append(out, c.claim)
		} else {
			p.forget(owner, name)
		}
	}
	return out
}

// confirm drops a claim that the cache shows, and reports whether it was pending.
func (p *pendingCreates) confirm(owner types.UID, name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, known := p.byOwner[owner][name]
	p.forget(owner, name)
	return known
}

// drop drops all claims of a deleted owner.
func (p *pendingCreates) drop(owner types.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.byOwner, owner)
}

// forget drops one claim. The lock must be held.
func (p *pendingCreates) forget(owner types.UID, name string) {
	delete(p.byOwner[owner], name)
	if len(p.byOwner[owner]) == 0 {
		delete(p.byOwner, owner)
	}
}

// waitSince records since when an owner could have its claims, until it has them.
type waitSince struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[Key]time.Time
}

func newWaitSince(clock clock.PassiveClock) *waitSince {
	return &waitSince{clock: clock, since: map[Key]time.Time{}}
}

// start records that the owner waits from now on.
func (w *waitSince) start(owner Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.since[owner] = w.clock.Now()
}

// elapsed returns how long the owner has waited.
func (w *waitSince) elapsed(owner Key) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	since, ok := w.since[owner]
	if !ok {
		return 0
	}
	return w.clock.Since(since)
}

// isWaiting reports whether the owner lacks claims that it could have.
func (w *waitSince) isWaiting(owner Key) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, ok := w.since[owner]
	return ok
}

// drop drops an owner that was deleted or has all its claims.
func (w *waitSince) drop(owner Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.since, owner)
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

func newEventDeduper() *eventDeduper { return &eventDeduper{last: map[types.UID]string{}} }

// isNew reports whether text differs from the last text for the object; "" drops the object.
func (d *eventDeduper) isNew(uid types.UID, text string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if text == "" {
		delete(d.last, uid)
		return false
	}
	if d.last[uid] == text {
		return false
	}
	d.last[uid] = text
	return true
}

// foreignChecked records when consumers of other kinds were checked.
type foreignChecked struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	times *lru.Cache // UID → time.Time; a dropped entry is checked again
}

func newForeignChecked(clock clock.PassiveClock) *foreignChecked {
	return &foreignChecked{clock: clock, times: lru.New(deletedSize)}
}

// due reports whether the consumer must be checked now, and records the check.
func (f *foreignChecked) due(uid types.UID) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at, ok := f.times.Get(uid); ok && f.clock.Since(at.(time.Time)) < foreignPeriod {
		return false
	}
	f.times.Add(uid, f.clock.Now())
	return true
}

// forget removes the record of a check that failed, so that the consumer is checked again.
func (f *foreignChecked) forget(uid types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.times.Remove(uid)
}

// foreignSince records when consumers that are neither pods nor PodGroups were first seen in
// status.reservedFor. The scheduler writes them before it binds the first pod, and they represent
// pods that are not named. Until that pod is in the cache, only they keep the claim.
type foreignSince struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[types.UID]map[types.UID]time.Time // by claim and consumer
}

func newForeignSince(clock clock.PassiveClock) *foreignSince {
	return &foreignSince{clock: clock, since: map[types.UID]map[types.UID]time.Time{}}
}

// record notes the current consumers of the claim.
func (f *foreignSince) record(claim *resource.ResourceClaim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.since[claim.UID]
	delete(f.since, claim.UID)
	for _, ref := range claim.Status.ReservedFor {
		if claims.IsPodConsumer(ref) || claims.IsGroupConsumer(ref) {
			continue
		}
		at, ok := before[ref.UID]
		if !ok {
			at = f.clock.Now()
		}
		if f.since[claim.UID] == nil {
			f.since[claim.UID] = map[types.UID]time.Time{}
		}
		f.since[claim.UID][ref.UID] = at
	}
}

// drop drops a deleted claim.
func (f *foreignSince) drop(claim types.UID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.since, claim)
}

// remaining returns the rest of d until the consumer has been in the claim for that time.
func (f *foreignSince) remaining(claim, consumer types.UID, d time.Duration) time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.since[claim][consumer]
	if !ok {
		return d
	}
	return d - f.clock.Since(at)
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

// releaseAfter records that the idle claim can be released after d, unless a time is set already.
func (i *idle) releaseAfter(uid types.UID, d time.Duration) {
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
