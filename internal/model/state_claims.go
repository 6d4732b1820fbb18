package model

import "slices"

// Assumption is what a plan does to a claim.
type Assumption struct {
	Made       *Claim      // the plan makes the claim, in the place of one of the pod's that asks for something else
	Allocation *Allocation // nil: the claim has one
	Consumers  []Consumer  // to be added
	AnyPod     bool        // reservedForAnyPod becomes true
}

// claimEntry keeps what the API says and what is assumed over it. It is never changed.
type claimEntry struct {
	observed *Claim      // nil: it is assumed to be made
	pending  *Assumption // what the API does not show yet; nil if that is nothing
	claim    *Claim      // effective
}

func newClaimEntry(observed *Claim, pending *Assumption) *claimEntry {
	entry := &claimEntry{observed: observed, pending: pending, claim: observed}
	if pending == nil {
		return entry
	}
	base := observed
	if pending.Made != nil {
		base = pending.Made
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

// left is what of the assumption the API does not show yet. Nothing is left if the API contradicts it: another claim
// of the same name, devices that somebody else has chosen, an allocation lost.
func (a *Assumption) left(old, now *Claim) *Assumption {
	switch {
	case a == nil:
		return nil
	case a.Made == nil && old.UID != now.UID, a.Made != nil && a.Made.Controller != now.Controller:
		return nil
	case a.Made != nil && now.Allocation == nil && !now.AsksLike(a.Made):
		return a // that one is about to be replaced
	}
	rest := Assumption{AnyPod: a.AnyPod && (now.Allocation == nil || !now.Allocation.ReservedForAnyPod)}
	switch {
	case now.Allocation == nil && a.Allocation == nil:
		return nil
	case now.Allocation == nil:
		rest.Allocation = a.Allocation
	case a.Allocation != nil && !sameDevices(a.Allocation, now.Allocation):
		return nil
	}
	for _, consumer := range a.Consumers {
		if !now.HasConsumer(consumer) {
			rest.Consumers = append(rest.Consumers, consumer)
		}
	}
	if rest.Allocation == nil && len(rest.Consumers) == 0 && !rest.AnyPod {
		return nil
	}
	return &rest
}

func sameDevices(a, b *Allocation) bool {
	if len(a.Devices) != len(b.Devices) {
		return false
	}
	for i := range a.Devices {
		if a.Devices[i].Request != b.Devices[i].Request || DeviceIDOf(a.Devices[i]) != DeviceIDOf(b.Devices[i]) {
			return false
		}
	}
	return true
}

// and is both assumptions together.
func (a *Assumption) and(more Assumption) *Assumption {
	if a == nil {
		return &more
	}
	both := Assumption{Made: a.Made, Allocation: a.Allocation, AnyPod: a.AnyPod || more.AnyPod}
	if both.Allocation == nil {
		both.Allocation = more.Allocation
	}
	both.Consumers = append(slices.Clip(a.Consumers), more.Consumers...)
	return &both
}

// Claim finds a claim as it is or is assumed to be.
func (s *State) Claim(key Key) (*Claim, bool) {
	claim := s.claims[key].effective()
	return claim, claim != nil
}

// ObservedClaim finds a claim as the API last showed it.
func (s *State) ObservedClaim(key Key) (*Claim, bool) {
	entry, ok := s.claims[key]
	if !ok || entry.observed == nil {
		return nil, false
	}
	return entry.observed, true
}

// PutClaim adds or replaces a claim as the API shows it. What is assumed of it and not shown yet stays assumed, unless
// the API contradicts it.
func (s *State) PutClaim(claim *Claim) []Topic {
	old := s.claims[claim.Key]
	if old == nil {
		return s.changeClaim(claim.Key, newClaimEntry(claim, nil))
	}
	if was := old.observed; was != nil && outdated(was.UID, claim.UID, was.Version, claim.Version) {
		return nil
	}
	return s.changeClaim(claim.Key, newClaimEntry(claim, old.pending.left(old.observed, claim)))
}

// AssumeClaim lays an assumption over a claim, on top of what is assumed of it already. It answers false, and does
// nothing, if there is no such claim and none is made, if it has an allocation and is to get another, or if it has none
// and gets none.
func (s *State) AssumeClaim(key Key, a Assumption) bool {
	old := s.claims[key]
	if a.Made != nil && (old == nil || old.claim.Allocation == nil) {
		var observed *Claim
		if old != nil {
			observed = old.observed
		}
		s.setClaim(key, newClaimEntry(observed, &a))
		return true
	}
	if old == nil || (a.Allocation != nil) == (old.claim.Allocation != nil) {
		return false
	}
	s.setClaim(key, newClaimEntry(old.observed, old.pending.and(a)))
	return true
}

// ForgetClaim takes all that is assumed of the claim back.
func (s *State) ForgetClaim(key Key) []Topic {
	old := s.claims[key]
	if old == nil || old.pending == nil {
		return nil
	}
	if old.observed == nil {
		return s.changeClaim(key, nil)
	}
	return s.changeClaim(key, newClaimEntry(old.observed, nil))
}

// forgetMade forgets a claim that was made for a pod which has ended, if the API never showed it: a watch that was
// interrupted for so long has nothing to say of it any more.
func (s *State) forgetMade(key Key) []Topic {
	if old := s.claims[key]; old == nil || old.observed != nil {
		return nil
	}
	return s.changeClaim(key, nil)
}

// DeleteClaim forgets a claim that is gone from the API; what it held is free. One that is to be made in its place stays.
func (s *State) DeleteClaim(key Key) []Topic {
	old := s.claims[key]
	switch {
	case old == nil:
		return nil
	case old.pending != nil && old.pending.Made != nil:
		return s.changeClaim(key, newClaimEntry(nil, old.pending))
	}
	return s.changeClaim(key, nil)
}

// Claims calls f with every claim as it is or is assumed to be, in no order, until f answers false.
func (s *State) Claims(f func(*Claim) bool) {
	for _, entry := range s.claims {
		if !f(entry.claim) {
			return
		}
	}
}

// LeaveClaim takes consumers off a claim, and frees its devices with the last one, as the claim's controller does. It is
// for trials, and gives the claim as it was.
func (s *State) LeaveClaim(key Key, leaves func(Consumer) bool) (before *Claim, freed bool) {
	old := s.claims[key]
	if old == nil || old.claim.Allocation == nil || !slices.ContainsFunc(old.claim.Consumers, leaves) {
		return nil, false
	}
	left := *old.claim
	left.Consumers = slices.DeleteFunc(slices.Clone(left.Consumers), leaves)
	if freed = len(left.Consumers) == 0; freed {
		left.Allocation = nil
	}
	s.setClaim(key, newClaimEntry(&left, nil))
	return old.claim, freed
}

func (s *State) changeClaim(key Key, entry *claimEntry) []Topic {
	before := s.claims[key]
	old := before.effective()
	s.setClaim(key, entry)
	if before != nil && entry != nil && sameClaim(before.claim, entry.claim) && sameClaim(before.observed, entry.observed) {
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

func (s *State) setClaim(key Key, entry *claimEntry) {
	old := s.claims[key]
	s.record(func() { s.setClaim(key, old) })
	s.recountOwn(key, old, entry)
	if old != nil {
		s.release(old.claim)
	}
	if entry == nil {
		delete(s.claims, key)
		return
	}
	s.claims[key] = entry
	s.hold(entry.claim)
}
