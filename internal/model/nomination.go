package model

import (
	"reflect"
	"slices"
)

// NominationStore holds the places that are kept for units.
type NominationStore struct {
	byUnit map[UnitKey]*Nomination
	state  *State
	log    *undoLog
}

func newNominationStore(s *State) NominationStore {
	return NominationStore{byUnit: map[UnitKey]*Nomination{}, state: s, log: &s.log}
}

// Nomination keeps a place for a unit that waits for victims to terminate, so that no unit of the
// same or a lower priority takes it. Stand-in pods and device reservations use the resources as if
// the unit were there already. Until the victims have terminated, a node may seem overcommitted and
// a device may have two holders, so that nothing is placed there.
type Nomination struct {
	Unit     UnitKey
	Priority int32
	Pods     []*Pod // stand-ins: StandIn is true
	Devices  []DeviceReservation
	// ReclaimedFor are claims of other groups that are being reclaimed, and that no pod may start to
	// use.
	Reclaimed []Key
}

// binds reports whether the unit must not use the place.
func (n *Nomination) binds(unit *Unit) bool { return n.Unit != unit.Key && n.Priority >= unit.Priority }

// Get returns the nomination of a unit.
func (s *NominationStore) Get(key UnitKey) (*Nomination, bool) {
	n, ok := s.byUnit[key]
	return n, ok
}

// Put adds or replaces the nomination of a unit.
func (s *NominationStore) Put(n *Nomination) []Topic {
	old := s.byUnit[n.Unit]
	if old != nil && reflect.DeepEqual(old, n) {
		return nil
	}
	topics := s.Delete(n.Unit)
	s.state.Pods.occupy()
	s.set(n.Unit, n)
	for _, pod := range n.Pods {
		s.state.Pods.set(pod.Key, newPodEntry(pod, "", nil))
	}
	return topics
}

// Delete removes the nomination of a unit, if it has one.
func (s *NominationStore) Delete(key UnitKey) []Topic {
	n, ok := s.byUnit[key]
	if !ok {
		return nil
	}
	s.set(key, nil)
	var topics []Topic
	for _, pod := range n.Pods {
		topics = append(topics, s.state.Pods.Delete(pod.Key)...)
	}
	if len(n.Devices) > 0 {
		topics = append(topics, Topic{Kind: TopicDevices})
	}
	for _, claim := range n.Reclaimed {
		topics = append(topics, Topic{Kind: TopicClaim, Key: claim})
	}
	return topics
}

// RemoveNonBinding removes the nominations that the unit may ignore. It is for trials.
func (s *NominationStore) RemoveNonBinding(unit *Unit) {
	var aside []UnitKey
	for key, n := range s.byUnit {
		if !n.binds(unit) {
			aside = append(aside, key)
		}
	}
	for _, key := range aside {
		s.Delete(key)
	}
}

// ReclaimedFor returns the unit for which a claim is being reclaimed: of several, the first by
// name.
func (s *NominationStore) ReclaimedFor(claim Key) (unit UnitKey, ok bool) {
	for key, n := range s.byUnit {
		if slices.Contains(n.Reclaimed, claim) && (!ok || key.String() < unit.String()) {
			unit, ok = key, true
		}
	}
	return unit, ok
}

func (s *NominationStore) set(key UnitKey, n *Nomination) {
	old := s.byUnit[key]
	s.log.record(func() { s.set(key, old) })
	if old != nil {
		for i := range old.Devices {
			s.state.Devices.release(old.Devices[i].holder(), old.Devices[i].Allocation)
		}
		delete(s.byUnit, key)
	}
	if n != nil {
		for i := range n.Devices {
			s.state.Devices.hold(n.Devices[i].holder(), n.Devices[i].Allocation)
		}
		s.byUnit[key] = n
	}
}
