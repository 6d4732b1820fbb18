package model

import (
	"reflect"
	"slices"
)

// Nomination keeps a place for a unit that waits for others to leave it: nobody of lower or the same priority takes it
// meanwhile. Stand-ins hold the room and the devices, as if the unit were there already; until those others are gone, a
// node may thus seem overdrawn and a device have two holders, and nobody is placed there.
type Nomination struct {
	Unit     UnitKey
	Priority int32
	Pods     []*Pod   // StandIn is true
	Claims   []*Claim // without consumers
	// Recalled are claims of others that are to be given back, and that nobody may begin to use.
	Recalled []Key
}

// binds says whether the unit has to leave the place alone.
func (n *Nomination) binds(unit *Unit) bool { return n.Unit != unit.Key && n.Priority >= unit.Priority }

// Nomination finds the place that is kept for a unit.
func (s *State) Nomination(key UnitKey) (*Nomination, bool) {
	n, ok := s.nominations[key]
	return n, ok
}

// Nominate keeps a place for a unit, instead of the one that it had.
func (s *State) Nominate(n *Nomination) []Topic {
	old := s.nominations[n.Unit]
	if old != nil && reflect.DeepEqual(old, n) {
		return nil
	}
	topics := s.Denominate(n.Unit)
	s.occupy()
	s.setNomination(n.Unit, n)
	for _, pod := range n.Pods {
		s.setPod(pod.Key, newPodEntry(pod, "", nil))
	}
	for _, claim := range n.Claims {
		s.setClaim(claim.Key, newClaimEntry(claim, nil))
	}
	return topics
}

// Denominate gives up the unit's place, if one is kept.
func (s *State) Denominate(key UnitKey) []Topic {
	n, ok := s.nominations[key]
	if !ok {
		return nil
	}
	s.setNomination(key, nil)
	var topics []Topic
	for _, pod := range n.Pods {
		topics = append(topics, s.DeletePod(pod.Key)...)
	}
	for _, claim := range n.Claims {
		topics = append(topics, s.DeleteClaim(claim.Key)...)
	}
	for _, claim := range n.Recalled {
		topics = append(topics, Topic{Kind: TopicClaim, Key: claim})
	}
	return topics
}

// StepAside takes away the stand-ins that do not bind the unit. It is for trials.
func (s *State) StepAside(unit *Unit) {
	var aside []UnitKey
	for key, n := range s.nominations {
		if !n.binds(unit) {
			aside = append(aside, key)
		}
	}
	for _, key := range aside {
		s.Denominate(key)
	}
}

// Recalled says for whom a claim is to be given back: of several, the first by name.
func (s *State) Recalled(claim Key) (unit UnitKey, ok bool) {
	for key, n := range s.nominations {
		if slices.Contains(n.Recalled, claim) && (!ok || key.String() < unit.String()) {
			unit, ok = key, true
		}
	}
	return unit, ok
}

func (s *State) setNomination(key UnitKey, n *Nomination) {
	old := s.nominations[key]
	s.record(func() { s.setNomination(key, old) })
	if n == nil {
		delete(s.nominations, key)
		return
	}
	s.nominations[key] = n
}
