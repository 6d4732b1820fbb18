package model

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// ClaimStore holds the ResourceClaims, as observed and as assumed.
type ClaimStore struct {
	entries map[Key]*claimEntry
	state   *State
	log     *undoLog
}

func newClaimStore(s *State) ClaimStore {
	return ClaimStore{entries: map[Key]*claimEntry{}, state: s, log: &s.log}
}

// claimEntry is a claim as the API shows it and what is assumed in addition. It is never changed.
type claimEntry struct {
	observed *Claim      // nil if the API does not show the claim
	expected *Claim      // the claim that a plan may create, or nil; see Expect
	pending  *Assumption // changes that the API does not show yet, or nil
	claim    *Claim      // the effective claim
}

func newClaimEntry(observed *Claim, pending *Assumption) *claimEntry {
	return newExpectedEntry(observed, nil, pending)
}

// newExpectedEntry returns the entry of a claim, or nil if there is neither a claim nor one that is
// expected or assumed to be created.
func newExpectedEntry(observed, expected *Claim, pending *Assumption) *claimEntry {
	base := observed
	if base == nil {
		base = expected
	}
	if base == nil && (pending == nil || pending.NewClaim == nil) {
		return nil
	}
	entry := &claimEntry{observed: observed, expected: expected, pending: pending, claim: base}
	if pending == nil {
		return entry
	}
	if pending.NewClaim != nil {
		base = pending.NewClaim
	}
	claim := *base
	claim.Consumers = append(slices.Clip(base.Consumers), pending.Consumers...)
	if claim.Allocation == nil {
		claim.Allocation = pending.Allocation
	}
	if pending.AnyPod && !claim.Allocation.ReservedForAnyPod {
		allocation := *claim.Allocation
		allocation.ReservedForAnyPod = true
		claim.Allocation = &allocation
	}
	entry.claim = &claim
	return entry
}

func (e *claimEntry) effective() *Claim {
	if e == nil {
		return nil
	}
	return e.claim
}

// Get returns a claim, including what is assumed.
func (s *ClaimStore) Get(key Key) (*Claim, bool) {
	claim := s.entries[key].effective()
	return claim, claim != nil
}

// Observed returns a claim as the API showed it last.
func (s *ClaimStore) Observed(key Key) (*Claim, bool) {
	entry, ok := s.entries[key]
	if !ok || entry.observed == nil {
		return nil, false
	}
	return entry.observed, true
}

// Expect adds a claim that does not exist and will be created for a pod: a plan for the pod creates
// it with its devices. The claim must have Generated. An expected claim is forgotten as soon as the
// API shows the claim; it changes nothing if the API does already.
func (s *ClaimStore) Expect(claim *Claim) []Topic {
	old := s.entries[claim.Key]
	switch {
	case old == nil:
		return s.change(claim.Key, newExpectedEntry(nil, claim, nil))
	case old.observed != nil:
		return nil
	}
	return s.change(claim.Key, newExpectedEntry(nil, claim, old.pending))
}

// Unexpect removes the expectation that a claim will be created for the owner. A claim that a plan
// has created stays.
func (s *ClaimStore) Unexpect(key Key, owner types.UID) []Topic {
	old := s.entries[key]
	if old == nil || old.expected == nil || old.expected.Controller != owner {
		return nil
	}
	return s.change(key, newExpectedEntry(old.observed, nil, old.pending))
}

// Put adds or replaces a claim as the API shows it. Assumptions that the API does not show yet are
// kept, unless the API contradicts them.
func (s *ClaimStore) Put(claim *Claim) []Topic {
	old := s.entries[claim.Key]
	if old == nil {
		return s.change(claim.Key, newClaimEntry(claim, nil))
	}
	if was := old.observed; was != nil && outdated(was.UID, claim.UID, was.Version, claim.Version) {
		return nil
	}
	return s.change(claim.Key, newClaimEntry(claim, old.pending.remaining(old.observed, claim)))
}

// Assume adds an assumption about a claim to those that exist already. It returns false and does
// nothing if the claim does not exist and is not created, if it has an allocation and the
// assumption has another, or if neither has one.
func (s *ClaimStore) Assume(key Key, a Assumption) bool {
	old := s.entries[key]
	if a.NewClaim != nil && (old == nil || old.claim.Allocation == nil) {
		var observed, expected *Claim
		if old != nil {
			observed, expected = old.observed, old.expected
		}
		s.set(key, newExpectedEntry(observed, expected, &a))
		return true
	}
	if old == nil || (a.Allocation != nil) == (old.claim.Allocation != nil) {
		return false
	}
	s.set(key, newExpectedEntry(old.observed, old.expected, old.pending.merge(a)))
	return true
}

// Forget removes all assumptions about the claim.
func (s *ClaimStore) Forget(key Key) []Topic {
	old := s.entries[key]
	if old == nil || old.pending == nil {
		return nil
	}
	return s.change(key, newExpectedEntry(old.observed, old.expected, nil))
}

// forgetNew removes a claim that a plan created for a pod which has terminated, if the API never
// showed the claim. A watch that was interrupted will not show it any more.
func (s *ClaimStore) forgetNew(key Key) []Topic {
	if old := s.entries[key]; old == nil || old.observed != nil {
		return nil
	}
	return s.change(key, nil)
}

// Delete removes a claim that was deleted from the API and releases its devices. A claim that is
// assumed to be created in its place remains.
func (s *ClaimStore) Delete(key Key) []Topic {
	old := s.entries[key]
	switch {
	case old == nil:
		return nil
	case old.pending != nil && old.pending.NewClaim != nil:
		return s.change(key, newClaimEntry(nil, old.pending))
	}
	return s.change(key, nil)
}

// Each calls f with every claim, including what is assumed, in no particular order, until f returns
// false.
func (s *ClaimStore) Each(f func(*Claim) bool) {
	for _, entry := range s.entries {
		if !f(entry.claim) {
			return
		}
	}
}

// RemoveConsumers removes consumers of a claim, and deallocates it with the last one, as the
// claim's controller does. It is for trials. It returns the claim as it was before.
func (s *ClaimStore) RemoveConsumers(key Key, leaves func(Consumer) bool) (before *Claim, freed bool) {
	old := s.entries[key]
	if old == nil || old.claim.Allocation == nil || !slices.ContainsFunc(old.claim.Consumers, leaves) {
		return nil, false
	}
	left := *old.claim
	left.Consumers = slices.DeleteFunc(slices.Clone(left.Consumers), leaves)
	if freed = len(left.Consumers) == 0; freed {
		left.Allocation = nil
	}
	s.set(key, newClaimEntry(&left, nil))
	return old.claim, freed
}

func (s *ClaimStore) change(key Key, entry *claimEntry) []Topic {
	before := s.entries[key]
	old := before.effective()
	s.set(key, entry)
	if before != nil && entry != nil && sameClaim(before.claim, entry.claim) &&
		sameClaim(before.observed, entry.observed) {
		return nil
	}
	topics := []Topic{{Kind: TopicClaim, Key: key}}
	if old != nil && old.Allocation != nil {
		if now := entry.effective(); now == nil || now.Allocation == nil || !sameDevices(old.Allocation, now.Allocation) {
			topics = append(topics, Topic{Kind: TopicDevices})
		}
	}
	return topics
}

func (s *ClaimStore) set(key Key, entry *claimEntry) {
	old := s.entries[key]
	s.log.record(func() { s.set(key, old) })
	s.state.Groups.recountOwn(key, old, entry)
	if old != nil {
		s.state.Devices.release(Holder{Claim: key}, old.claim.Allocation)
	}
	if entry == nil {
		delete(s.entries, key)
		return
	}
	s.entries[key] = entry
	s.state.Devices.hold(Holder{Claim: key}, entry.claim.Allocation)
}
