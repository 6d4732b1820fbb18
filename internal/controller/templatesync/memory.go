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

func (v *verdicts) isAccepted(o *Original) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	known, ok := v.get(o)
	return ok && known.rejection == ""
}

// rejection returns the reason for which the content was rejected, or "" if it was not, or not
// recently.
func (v *verdicts) rejection(o *Original) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if known, ok := v.get(o); ok && v.clock.Since(known.time) < retryRejected {
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
	since map[string]waitState
}

type waitState struct {
	since time.Time
	wrote bool
}

func newWaitSince(clock clock.PassiveClock) *waitSince {
	return &waitSince{clock: clock, since: map[string]waitState{}}
}

func (w *waitSince) start(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.since[namespace]; !ok {
		w.since[namespace] = waitState{since: w.clock.Now()}
	}
}

func (w *waitSince) setWrote(namespace string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if e, ok := w.since[namespace]; ok {
		e.wrote = true
		w.since[namespace] = e
	}
}

// drop ends a period. It returns how long it lasted, and whether anything was written in it.
func (w *waitSince) drop(namespace string) (took time.Duration, wrote bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e, ok := w.since[namespace]
	if !ok {
		return 0, false
	}
	delete(w.since, namespace)
	return w.clock.Since(e.since), e.wrote
}

// inSyncEvents records for which generation of an original an event has reported that it is in
// sync.
type inSyncEvents struct {
	mu          sync.Mutex
	generations map[types.UID]int64
}

func newInSyncEvents() *inSyncEvents { return &inSyncEvents{generations: map[types.UID]int64{}} }

func (e *inSyncEvents) isNew(uid types.UID, generation int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.generations[uid] == generation {
		return false
	}
	e.generations[uid] = generation
	return true
}

func (e *inSyncEvents) drop(uid types.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.generations, uid)
}
