package model

import (
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
)

func allocationOf(device string) *Allocation {
	return &Allocation{
		Devices: []resourcev1.DeviceRequestAllocationResult{{Request: "r", Driver: "d", Pool: "p", Device: device}},
	}
}

// An assumption about a claim is kept until the API shows or contradicts it.
func TestAssumedClaim(t *testing.T) {
	key := Key{Namespace: "ns", Name: "c"}
	a, b := PodConsumer("a", "1"), PodConsumer("b", "2")
	device := func(name string) DeviceID { return DeviceID{Driver: "d", Pool: "p", Device: name} }
	claim := func(uid types.UID, version uint64, allocation *Allocation, consumers ...Consumer) *Claim {
		return &Claim{Key: key, UID: uid, Version: version, Allocation: allocation, Consumers: consumers}
	}
	tests := []struct {
		name      string
		shown     []*Claim
		held      string // device that is held in the end
		consumers int
		pending   bool
	}{
		{"not shown yet", []*Claim{claim("u", 2, nil)}, "x", 2, true},
		{"partly shown", []*Claim{claim("u", 2, allocationOf("x"), a)}, "x", 2, true},
		{
			"shown, then one consumer gone, the other not shown yet",
			[]*Claim{claim("u", 2, allocationOf("x"), a), claim("u", 3, allocationOf("x"))},
			"x",
			1,
			true,
		},
		{"shown", []*Claim{claim("u", 2, allocationOf("x"), a, b)}, "x", 2, false},
		{"an older version comes late", []*Claim{claim("u", 3, allocationOf("x"), a, b), claim("u", 2, nil)}, "x", 2, false},
		{"somebody else was quicker", []*Claim{claim("u", 2, allocationOf("y"), b)}, "y", 1, false},
		{"shown, then deallocated", []*Claim{claim("u", 2, allocationOf("x"), a, b), claim("u", 3, nil)}, "", 0, false},
		{"made anew", []*Claim{claim("v", 2, nil)}, "", 0, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := NewState()
			s.Claims.Put(claim("u", 1, nil))
			if !s.Claims.Assume(key, Assumption{Allocation: allocationOf("x"), Consumers: []Consumer{a}}) ||
				!s.Claims.Assume(key, Assumption{Consumers: []Consumer{b}}) {
				t.Fatal("the assumption was refused")
			}
			if s.Claims.Assume(key, Assumption{Allocation: allocationOf("y")}) {
				t.Fatal("a second allocation was assumed")
			}
			for _, shown := range test.shown {
				s.Claims.Put(shown)
			}
			now, _ := s.Claims.Get(key)
			if len(now.Consumers) != test.consumers || (s.Claims.entries[key].pending != nil) != test.pending {
				t.Errorf("consumers %v, pending %v", now.Consumers, s.Claims.entries[key].pending)
			}
			for _, name := range []string{"x", "y"} {
				if held := len(s.Devices.Holders(device(name))) > 0; held != (name == test.held) {
					t.Errorf("device %s held: %v", name, held)
				}
			}
			if err := s.Audit(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A pod is assumed to be on a node until the API shows its node, or another pod of the same name.
func TestAssumedPod(t *testing.T) {
	key := Key{Namespace: "ns", Name: "p"}
	pod := func(uid types.UID, version uint64, node string) *Pod {
		return &Pod{Key: key, UID: uid, Version: version, Node: node, Shape: &Shape{Requests: Resources{"cpu": 1}}}
	}
	tests := []struct {
		name    string
		shown   []*Pod
		node    string
		assumed bool
	}{
		{"a status changed meanwhile", []*Pod{pod("u", 2, "")}, "n", true},
		{"bound", []*Pod{pod("u", 2, "n")}, "n", false},
		{"bound elsewhere", []*Pod{pod("u", 2, "m")}, "m", false},
		{"an older version comes late", []*Pod{pod("u", 3, "n"), pod("u", 2, "")}, "n", false},
		{"made anew", []*Pod{pod("v", 2, "")}, "", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := NewState()
			s.Pods.Put(pod("u", 1, ""))
			if !s.Pods.Assume(key, "n") || s.Pods.Assume(key, "m") {
				t.Fatal("a pod is assumed to be on one node, once")
			}
			for _, shown := range test.shown {
				s.Pods.Put(shown)
			}
			now, _ := s.Pods.Get(key)
			if now.Node != test.node || s.Pods.Assumed(key) != test.assumed {
				t.Errorf("node %q, assumed %v", now.Node, s.Pods.Assumed(key))
			}
			if err := s.Audit(); err != nil {
				t.Error(err)
			}
		})
	}
}
