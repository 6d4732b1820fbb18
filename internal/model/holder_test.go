package model

import (
	"slices"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
)

// A device that a claim, a reservation and a quarantine hold is free when the last of them ends.
// None of them but the claim is an object of the State's claims.
func TestHoldersOfADevice(t *testing.T) {
	s := NewState()
	slice := &Slice{Name: "s", Pool: PoolID{Driver: "d", Pool: "p"}, Generation: 1, PoolSlices: 1}
	slice.Devices = []Device{{Name: "dev-0", Usage: &Usage{Scope: Scope{All: true}}}}
	s.Devices.PutSlice(slice)
	id := DeviceID{Driver: "d", Pool: "p", Device: "dev-0"}
	claim, other := Key{Namespace: "ns", Name: "c"}, Key{Namespace: "ns", Name: "other"}
	allocation := &Allocation{Devices: []resourcev1.DeviceRequestAllocationResult{resultOf(id)}}
	unit := UnitKey{Key: Key{Namespace: "ns", Name: "pod"}}

	s.Devices.Quarantine(id)
	s.Devices.Quarantine(id)
	s.Nominations.Put(&Nomination{Unit: unit, Devices: []DeviceReservation{{Claim: other, Allocation: allocation}}})
	s.Claims.Put(&Claim{Key: claim, Allocation: allocation})
	want := []Holder{{Kind: ByClaim, Claim: claim}, {Kind: ByReservation, Claim: other}, {Kind: ByQuarantine}}
	if have := s.Devices.Holders(id); !slices.Equal(have, want) {
		t.Errorf("holders are %v, should be %v", have, want)
	}
	s.Claims.Each(func(c *Claim) bool {
		if c.Key != claim {
			t.Errorf("claim %s does not exist", c.Key)
		}
		return true
	})
	wakes := func(what string, topics []Topic, want bool) {
		t.Helper()
		if slices.Contains(topics, Topic{Kind: TopicDevices}) != want {
			t.Errorf("%s: topics are %v", what, topics)
		}
	}
	wakes("end of the quarantine", s.Devices.EndQuarantine(id), true)
	wakes("second end of the quarantine", s.Devices.EndQuarantine(id), false)
	wakes("end of the nomination", s.Nominations.Delete(unit), true)
	wakes("deletion of the claim", s.Claims.Delete(claim), true)
	if have := s.Devices.Holders(id); len(have) > 0 {
		t.Errorf("holders are %v after all ended", have)
	}
	if err := s.Audit(); err != nil {
		t.Error(err)
	}
}
