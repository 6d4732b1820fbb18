package templatesync

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
)

// verdicts records the server's decisions about the content of originals. It is safe for concurrent
// use.
type verdicts struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	byUID map[types.UID]verdict
}

type verdict struct {
	hash      string
	rejection string    // reason of the rejection; "" if accepted
	time      time.Time // time of the rejection
}

func newVerdicts(clock clock.PassiveClock) *verdicts {
	return &verdicts{clock: clock, byUID: map[types.UID]verdict{}}
}

func (v *verdicts) get(o *Original) (verdict, bool) {
	found, ok := v.byUID[o.UID]
	return found, ok && found.hash == o.Hash
}

func (v *verdicts) accept(o *Original) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.byUID[o.UID] = verdict{hash: o.Hash}
}

// refuse records a rejection, unless the server accepted the content before: the reason is then in
// the namespace.
func (v *verdicts) refuse(o *Original, why error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.get(o); !ok || known.rejection != "" {
		v.byUID[o.UID] = verdict{hash: o.Hash, rejection: why.Error(), time: v.clock.Now()}
	}
}

func (v *verdicts) accepted(o *Original) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.get(o)
	return ok && known.rejection == ""
}

// refused returns the reason for which the content was rejected, or "" if it was not, or not
// recently.
func (v *verdicts) refused(o *Original) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.get(o); ok && v.clock.Since(known.time) < askAgain {
		return known.rejection
	}
	return ""
}

func (v *verdicts) drop(uid types.UID) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.byUID, uid)
}

// ownSpecs is the UIDs of existing copies that this process created.
type ownSpecs struct {
	mu   sync.Mutex
	uids map[types.UID]struct{}
}

func newOwnSpecs() *ownSpecs { return &ownSpecs{uids: map[types.UID]struct{}{}} }

func (s *ownSpecs) add(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uids[uid] = struct{}{}
}

func (s *ownSpecs) has(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.uids[uid]
	return ok
}

func (s *ownSpecs) drop(uid types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uids, uid)
}

// waitSince records since when namespaces may be out of sync, and whether they were.
type waitSince struct {
	clock clock.PassiveClock
	mu    sync.Mutex
	since map[string]episode
}

type episode struct {
	since time.Time
	wrote bool
}

func newWaitSince(clock clock.PassiveClock) *waitSince {
	return &waitSince{clock: clock, since: map[string]episode{}}
}

func (h *waitSince) start(namespace string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, ok := h.since[namespace]; !ok {
		h.since[namespace] = episode{since: h.clock.Now()}
	}
}

func (h *waitSince) wrote(namespace string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if e, ok := h.since[namespace]; ok {
		e.wrote = true
		h.since[namespace] = e
	}
}

// drop ends a period. It returns how long it lasted, and whether anything was written in it.
func (h *waitSince) drop(namespace string) (took time.Duration, wrote bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e, ok := h.since[namespace]
	if !ok {
		return 0, false
	}
	delete(h.since, namespace)
	return h.clock.Since(e.since), e.wrote
}

// inSyncEvents records for which generation of an original an event has reported that it is in
// sync.
type inSyncEvents struct {
	mu          sync.Mutex
	generations map[types.UID]int64
}

func newInSyncEvents() *inSyncEvents { return &inSyncEvents{generations: map[types.UID]int64{}} }

func (g *inSyncEvents) isNew(uid types.UID, generation int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.generations[uid] == generation {
		return false
	}
	g.generations[uid] = generation
	return true
}

func (g *inSyncEvents) drop(uid types.UID) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.generations, uid)
}
