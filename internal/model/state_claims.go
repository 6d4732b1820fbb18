package model

// claimEntry keeps what the API says and what is assumed over it.
type claimEntry struct {
	observed *Claim
	assumed  *Claim // nil, or what observed will be once the plan is written
}

func (e *claimEntry) effective() *Claim {
	if e == nil {
		return nil
	}
	if e.assumed != nil {
		return e.assumed
	}
	return e.observed
}

// Claim finds a claim as it is or is assumed to be.
func (s *State) Claim(key Key) (*Claim, bool) {
	claim := s.claims[key].effective()
	return claim, claim != nil
}

// ObservedClaim finds a claim as the API last showed it.
func (s *State) ObservedClaim(key Key) (*Claim, bool) {
	entry, ok := s.claims[key]
	if !ok {
		return nil, false
	}
	return entry.observed, true
}

// PutClaim adds or replaces a claim as the API shows it. An assumption ends when the API shows what was assumed, an
// allocation of somebody else, or another claim of the same name.
func (s *State) PutClaim(claim *Claim) []Topic {
	old := s.claims[claim.Key]
	if old != nil && outdated(old.observed.UID, claim.UID, old.observed.Version, claim.Version) {
		return nil
	}
	entry := &claimEntry{observed: claim}
	if old != nil && old.assumed != nil && stillAssumed(old.assumed, claim) {
		entry.assumed = merge(claim, old.assumed)
	}
	return s.changeClaim(claim.Key, entry)
}

// stillAssumed says whether the API does not show yet what is assumed.
func stillAssumed(assumed, observed *Claim) bool {
	if assumed.UID != observed.UID {
		return false
	}
	if observed.Allocation == nil {
		// A claim that was allocated when the assumption was made has lost that: it is not to be used.
		return assumed.assumesAllocation
	}
	if assumed.assumesAllocation {
		return false
	}
	for _, consumer := range assumed.Consumers {
		if !observed.HasConsumer(consumer) {
			return true
		}
	}
	return false
}

// merge lays an assumption over a newer observation.
func merge(observed, assumed *Claim) *Claim {
	merged := *observed
	merged.assumesAllocation = assumed.assumesAllocation
	if merged.Allocation == nil {
		merged.Allocation = assumed.Allocation
	}
	merged.Consumers = append([]Consumer(nil), observed.Consumers...)
	for _, consumer := range assumed.Consumers {
		if !merged.HasConsumer(consumer) {
			merged.Consumers = append(merged.Consumers, consumer)
		}
	}
	return &merged
}

// Assumption is what a plan does to a claim.
type Assumption struct {
	Allocation *Allocation // nil: the claim has one
	Consumers  []Consumer  // to be added
	AnyPod     bool        // reservedForAnyPod becomes true
}

// AssumeClaim lays an assumption over a claim, on top of what is assumed of it already. It answers false, and does
// nothing, if there is no such claim, or it has an allocation and is to get another.
func (s *State) AssumeClaim(key Key, a Assumption) bool {
	old := s.claims[key]
	if old == nil || (a.Allocation != nil) == (old.effective().Allocation != nil) {
		return false
	}
	assumed := &Claim{Allocation: a.Allocation, Consumers: a.Consumers, assumesAllocation: a.Allocation != nil}
	if old.assumed != nil {
		assumed.assumesAllocation = assumed.assumesAllocation || old.assumed.assumesAllocation
	}
	assumed = merge(old.effective(), assumed)
	if a.AnyPod && !assumed.Allocation.ReservedForAnyPod {
		allocation := *assumed.Allocation
		allocation.ReservedForAnyPod = true
		assumed.Allocation = &allocation
	}
	s.setClaim(key, &claimEntry{observed: old.observed, assumed: assumed})
	return true
}

// ForgetClaim takes an assumption back.
func (s *State) ForgetClaim(key Key) []Topic {
	old := s.claims[key]
	if old == nil || old.assumed == nil {
		return nil
	}
	return s.changeClaim(key, &claimEntry{observed: old.observed})
}

// DeleteClaim forgets a claim that is gone from the API; what it held is free.
func (s *State) DeleteClaim(key Key) []Topic {
	if _, ok := s.claims[key]; !ok {
		return nil
	}
	return s.changeClaim(key, nil)
}

func (s *State) changeClaim(key Key, entry *claimEntry) []Topic {
	old := s.claims[key].effective()
	s.setClaim(key, entry)
	topics := []Topic{{Kind: TopicClaim, Key: key}}
	if old != nil && old.Allocation != nil {
		if now := entry.effective(); now == nil || now.Allocation == nil {
			topics = append(topics, Topic{Kind: TopicDevices})
		}
	}
	return topics
}

func (s *State) setClaim(key Key, entry *claimEntry) {
	old := s.claims[key]
	s.record(func() { s.setClaim(key, old) })
	if claim := old.effective(); claim != nil {
		s.release(claim)
	}
	if claim := entry.effective(); claim != nil {
		s.claims[key] = entry
		s.hold(claim)
	} else {
		delete(s.claims, key)
	}
}
