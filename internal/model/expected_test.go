package model

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"

	resource "github.com/allot-dev/allot/api/resource/v1"
)

// An expected claim can be placed until the API shows the claim or nothing expects it any more. A plan
// that creates it holds its devices until the API shows or contradicts them.
func TestExpectedClaim(t *testing.T) {
	key := Key{Namespace: "ns", Name: "p-gpu"}
	expected := &Claim{Key: key, Controller: "p-uid", Generated: &resource.ResourceClaim{}}
	shown := func(controller types.UID, allocation *Allocation) *Claim {
		return &Claim{Key: key, UID: "u", Version: 2, Controller: controller, Allocation: allocation}
	}
	expect := func(s *State) { s.Claims.Expect(expected) }
	plan := func(s *State) {
		s.Claims.Assume(key, Assumption{
			NewClaim: expected, Allocation: allocationOf("x"), Consumers: []Consumer{PodConsumer("p", "p-uid")},
		})
	}
	refuse := func(s *State) { s.Claims.Forget(key) }
	unexpect := func(s *State) { s.Claims.Unexpect(key, "p-uid") }
	show := func(controller types.UID, allocation *Allocation) func(*State) {
		return func(s *State) { s.Claims.Put(shown(controller, allocation)) }
	}
	remove := func(s *State) { s.Claims.Delete(key) }
	for name, test := range map[string]struct {
		steps []func(*State)
		uid   types.UID
		exist bool
		held  bool
	}{
		"expected":                               {[]func(*State){expect}, "", true, false},
		"expected no more":                       {[]func(*State){expect, unexpect}, "", false, false},
		"shown without devices":                  {[]func(*State){expect, show("p-uid", nil)}, "u", true, false},
		"shown, then expected":                   {[]func(*State){show("p-uid", nil), expect}, "u", true, false},
		"shown, expected no more":                {[]func(*State){expect, show("p-uid", nil), unexpect}, "u", true, false},
		"shown, and deleted":                     {[]func(*State){expect, show("p-uid", nil), remove}, "", false, false},
		"planned":                                {[]func(*State){expect, plan}, "", true, true},
		"planned, the pod changes":               {[]func(*State){expect, plan, expect}, "", true, true},
		"planned, and refused":                   {[]func(*State){expect, plan, refuse}, "", true, false},
		"planned, and refused, expected no more": {[]func(*State){expect, plan, refuse, unexpect}, "", false, false},
		"planned, expected no more":              {[]func(*State){expect, plan, unexpect}, "", true, true},
		"planned, expected no more, refused":     {[]func(*State){expect, plan, unexpect, refuse}, "", false, false},
		"planned, and shown":                     {[]func(*State){expect, plan, show("p-uid", allocationOf("x"))}, "u", true, true},
		"planned, shown for another":             {[]func(*State){expect, plan, show("another", nil)}, "u", true, false},
		"planned, created by the controller":     {[]func(*State){expect, plan, show("p-uid", nil)}, "u", true, true},
		"planned, created, and then refused":     {[]func(*State){expect, plan, show("p-uid", nil), refuse}, "u", true, false},
		"planned, and shown with another device": {[]func(*State){expect, plan, show("p-uid", allocationOf("y"))}, "u", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewState()
			for _, step := range test.steps {
				step(s)
				if err := s.Audit(); err != nil {
					t.Fatal(err)
				}
			}
			claim, ok := s.Claims.Get(key)
			if ok != test.exist || ok && claim.UID != test.uid {
				t.Errorf("claim %+v, exists %t", claim, ok)
			}
			if held := len(s.Devices.Holders(DeviceID{Driver: "d", Pool: "p", Device: "x"})) > 0; held != test.held {
				t.Errorf("held: %t", held)
			}
		})
	}
}
